// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
//
// The stages of a warp on the SIMT host executor, compared with the Cpu's. Other tests compare the
// Cpu's with oracles.
#include <gtest/gtest.h>

#include "libflow/cpu/constancy.hpp"
#include "libflow/cpu/data_term.hpp"
#include "libflow/cpu/lucas_kanade.hpp"
#include "libflow/cpu/robust_weights.hpp"
#include "libflow/cpu/texture.hpp"
#include "libflow/cpu/weighted_median.hpp"
#include "libflow/gpu/lucas_kanade.cuh"
#include "libflow/gpu/robust_weights.cuh"
#include "libflow/gpu/texture.cuh"
#include "libflow/gpu/weighted_median.cuh"
#include "tests/flow/scene.hpp"
#include "tests/flow/weighted_windows.hpp"

namespace aperture::flow {
namespace {

constexpr core::LaneOrder orders[] = {core::LaneOrder::forward, core::LaneOrder::reverse,
                                      core::LaneOrder::random};

/// Expects differences up to `tolerance` times the maximum of each plane.
void expect_planes(const gpu::PlaneArray<core::Host>& planes, const PaddedPlanes& expected,
                   double tolerance) {
    const auto found = planes.view();
    for (index_t i = 0; i < found.extent[0]; ++i) {
        double largest = 0;
        double difference = 0;
        for (index_t y = 0; y < found.extent[1]; ++y) {
            for (index_t x = 0; x < found.extent[2]; ++x) {
                const double value = expected.row(i, y)[x];
                largest = std::max(largest, std::abs(value));
                const double off = std::abs(found(i, y, x) - value);
                if (!(off <= difference)) difference = off;
            }
        }
        EXPECT_TRUE(difference <= tolerance * largest)
            << "plane " << i << ": off by " << difference << ", largest " << largest;
    }
}

gpu::PlaneArray<core::Host> array_of(const PaddedPlanes& planes) {
    gpu::PlaneArray<core::Host> result(planes.view().extent[0], planes.shape());
    for (index_t i = 0; i < planes.view().extent[0]; ++i) {
        for (index_t y = 0; y < planes.shape().rows; ++y) {
            for (index_t x = 0; x < planes.shape().columns; ++x) {
                result.view()(i, y, x) = planes.row(i, y)[x];
            }
        }
    }
    return result;
}

std::vector<Shape> shapes() {
    return {{1, 1}, {1, 9}, {9, 1}, {4, 3}, {15, 31}, {16, 32}, {17, 33}, {61, 67}};
}

class SimtStages : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, SimtStages, testing::ValuesIn(shapes()),
                         testing::PrintToStringParamName());

/// Both forms of the unknown, from an image that the kernel warps and from a warped image.
TEST_P(SimtStages, TermsAreTheCpus) {
    const Shape shape = GetParam();
    const Pair pair(Scene(1), shape, Motion::shift(0.8, -0.4));
    std::mt19937 generator(2);
    std::uniform_real_distribution<float> uniform(-3, 3);
    const PaddedPlanes moved =
        padded(2, shape, [&](index_t, index_t, index_t) { return uniform(generator); });
    core::Cpu cpu;
    const PaddedPlanes image0 = padded_image(cpu, pair.image0);
    const PaddedPlanes image1 = padded_image(cpu, pair.image1);
    PaddedPlanes warped(1, shape);
    warp_padded(cpu, image1, moved, signal::Interpolation::bicubic, warped);
    const auto zero = array_of(image0);
    const auto one = array_of(image1);
    const auto ready = array_of(warped);
    const auto flow = array_of(moved);
    for (const bool increment : {false, true}) {
        PaddedPlanes expected(5, shape);
        linearise(cpu, image0, warped, moved, increment, expected);
        const PaddedPlanes start = padded(2, shape, [&](index_t i, index_t y, index_t x) {
            return increment ? 0.0F : moved.row(i, y)[x];
        });
        for (const core::LaneOrder order : orders) {
            core::Simt simt(order);
            gpu::PlaneArray<core::Host> terms(term_planes, shape);
            gpu::PlaneArray<core::Host> begin(2, shape);
            const gpu::Unknown unknown{increment ? 0.0F : 1.0F, begin.planes()};
            using gpu::WarpedImage;
            gpu::linearise(simt, zero.planes(),
                           WarpedImage<signal::Interpolation::bicubic>{one.planes(), flow.planes()},
                           flow.planes(), unknown, terms.planes());
            expect_planes(terms, expected, 2e-5);
            expect_planes(begin, start, 0);
            gpu::linearise(simt, zero.planes(), ready.planes(), flow.planes(), unknown,
                           terms.planes());
            expect_planes(terms, expected, 4e-6);
        }
    }
}

/// The constraints that a robust estimate stores, and its weights at another flow.
TEST_P(SimtStages, RobustTermsAreTheCpus) {
    const Shape shape = GetParam();
    const Image levels = random_levels(shape, 1);
    core::Cpu cpu;
    const PaddedPlanes image0 = padded_image(cpu, levels);
    const PaddedPlanes warped = padded_image(cpu, random_levels(shape, 2));
    const PaddedPlanes about = padded_flow(random_quarters(shape, 3));
    const PaddedPlanes now = padded_flow(random_quarters(shape, 4));
    Constancy constancy(shape);
    constancy.linearise(cpu, image0, warped, about);
    PaddedPlanes expected(5, shape);
    PaddedPlanes expected_coupling(2, shape);
    const gpu::RobustModel model{0.7F, 20};
    weigh_data(cpu, constancy.constraints(), about, now, model.brightness, expected);
    weigh_smoothness(cpu, image0, now, model.contrast, expected_coupling);
    // Coupling across the image's border is unspecified, so the test sets it to 0 on both sides.
    for (index_t y = 0; y < shape.rows; ++y) {
        expected_coupling.row(0, y)[shape.columns - 1] = 0;
        if (y + 1 < shape.rows) continue;
        std::fill_n(expected_coupling.row(1, y), shape.columns, 0.0F);
    }
    const auto zero = array_of(image0);
    const auto one = array_of(warped);
    const auto before = array_of(about);
    const auto after = array_of(now);
    for (const core::LaneOrder order : orders) {
        core::Simt simt(order);
        gpu::PlaneArray<core::Host> constraints(gpu::constraint_planes, shape);
        gpu::PlaneArray<core::Host> start(2, shape);
        gpu::constrain(simt, zero.planes(), one.planes(), before.planes(), constraints.planes(),
                       start.planes());
        expect_planes(constraints, constancy.constraints(), 4e-6);
        expect_planes(start, about, 0);
        gpu::PlaneArray<core::Host> terms(term_planes, shape);
        gpu::PlaneArray<core::Host> coupling(2, shape);
        gpu::weigh(simt, std::as_const(constraints).planes(), before.planes(), after.planes(),
                   zero.planes(), model, terms.planes(), coupling.planes());
        expect_planes(terms, expected, 1e-4);
        for (index_t y = 0; y < shape.rows; ++y) {
            coupling.view()(0, y, shape.columns - 1) = 0;
            if (y + 1 < shape.rows) continue;
            for (index_t x = 0; x < shape.columns; ++x) coupling.view()(1, y, x) = 0;
        }
        expect_planes(coupling, expected_coupling, 4e-6);
    }
}

/// Pixels near a step of the flow become medians; the others keep their values.
TEST_P(SimtStages, MediansNearBoundariesAreTheirWindows) {
    const Shape shape = GetParam();
    core::Cpu cpu;
    const PaddedPlanes image0 = padded_image(cpu, random_levels(shape, 1, 30));
    const PaddedPlanes warped = padded_image(cpu, random_levels(shape, 2, 30));
    // Smooth except for a step after a third of the columns and one after half of the rows.
    std::mt19937 generator(3);
    std::uniform_real_distribution<double> uniform(0, 0.2);
    const PaddedPlanes from = padded_flow(flow_of(
        shape,
        [&](index_t, index_t x) { return uniform(generator) + (3 * x < shape.columns ? 0 : 1); },
        [&](index_t y, index_t) { return uniform(generator) - (2 * y < shape.rows ? 0 : 0.6); }));
    constexpr float untouched = 7;
    PaddedPlanes visibility(1, shape);
    find_visibility(cpu, image0, warped, from, visibility);
    PaddedPlanes boundary(1, shape);
    find_motion_boundaries(cpu, from, boundary);
    PaddedPlanes expected = padded(2, shape, [](index_t, index_t, index_t) { return untouched; });
    filter_near_boundaries(cpu, image0, visibility, boundary, from, expected.view());
    const auto zero = array_of(image0);
    const auto one = array_of(warped);
    const auto flow = array_of(from);
    for (const core::LaneOrder order : orders) {
        core::Simt simt(order);
        gpu::PlaneArray<core::Host> to =
            array_of(padded(2, shape, [](index_t, index_t, index_t) { return untouched; }));
        gpu::WeightedMedian().run(simt, zero.planes(), one.planes(), flow.planes(), to.planes());
        for (index_t i : {0, 1}) {
            for (index_t y = 0; y < shape.rows; ++y) {
                for (index_t x = 0; x < shape.columns; ++x) {
                    const float found = to.view()(i, y, x);
                    ASSERT_EQ(found == untouched, expected.row(i, y)[x] == untouched)
                        << y << ' ' << x;
                    if (found == untouched) continue;
                    ASSERT_NO_FATAL_FAILURE(
                        expect_weighted_median(window_of(image0, visibility, from, i, y, x), found))
                        << y << ' ' << x;
                }
            }
        }
    }
}

/// Tensors and right-hand sides of random gradients. Some windows have no gradient.
PaddedPlanes random_terms(Shape shape) {
    std::mt19937 generator(3);
    std::normal_distribution<float> normal(0, 10);
    PaddedPlanes terms(5, shape);
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const float gx = x > shape.columns / 2 ? normal(generator) : 0.0F;
            const float gy = normal(generator);
            const float gt = normal(generator);
            const float values[5] = {gx * gx, gx * gy, gy * gy, -gx * gt, -gy * gt};
            for (index_t i = 0; i < 5; ++i) terms.row(i, y)[x] = values[i];
        }
    }
    return terms;
}

TEST_P(SimtStages, WindowsAreTheCpus) {
    const Shape shape = GetParam();
    const PaddedPlanes terms = random_terms(shape);
    const auto device_terms = array_of(terms);
    Parameters parameters = preset(Preset::fast, Method::lucas_kanade);
    for (const int window : {3, 9, 21}) {
        parameters.window = window;
        PaddedPlanes expected(2, shape);
        core::Cpu cpu;
        WindowedLeastSquares(cpu, shape, window, parameters.regularisation).solve(terms, expected);
        for (const Implementation how : {Implementation::fused, Implementation::staged}) {
            parameters.solver.implementation = how;
            for (const core::LaneOrder order : orders) {
                core::Simt simt(order);
                gpu::PlaneArray<core::Host> increment(2, shape);
                gpu::WindowedLeastSquares<core::Simt>(simt, shape, parameters)
                    .solve(simt, device_terms.planes(), increment.planes());
                expect_planes(increment, expected, 1e-4);
            }
        }
    }
}

TEST_P(SimtStages, TexturesAreTheCpus) {
    const Shape shape = GetParam();
    const Pair pair(Scene(4), shape, Motion::shift(0.8, -0.4));
    core::Cpu cpu;
    PaddedPlanes expected[2] = {padded_image(cpu, pair.image0), padded_image(cpu, pair.image1)};
    const auto image0 = array_of(expected[0]);
    const auto image1 = array_of(expected[1]);
    for (PaddedPlanes& image : expected) TextureFilter(shape).run(cpu, 0.95F, image);
    const PaddedPlanes both =
        padded(2, shape, [&](index_t i, index_t y, index_t x) { return expected[i].row(0, y)[x]; });
    for (const core::LaneOrder order : orders) {
        core::Simt simt(order);
        gpu::PlaneArray<core::Host> textures(2, shape);
        gpu::TextureFilter<core::Simt>(shape).run(
            simt, 0.95F, gpu::pair_of(image0.planes(), image1.planes()), textures.planes());
        // A hundred steps, each with a rounding of values up to 255, for a tenth of that.
        expect_planes(textures, both, 1e-4);
    }
}

}  // namespace
}  // namespace aperture::flow
