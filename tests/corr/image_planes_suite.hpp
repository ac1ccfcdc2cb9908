// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/corr/plane_images.hpp"
#include "tests/same_bytes.hpp"

/// ImagePlanes of every executor. ImagePlanesLikeCpuSuite compares planes with the Cpu's, which
/// other tests check by definitions.
///
/// A Runner runs them on host views and copies data if its executor has memory of its own:
///     using Executor;
///     std::string why_not();          // not empty: the reason to skip the suite
///     Executor& executor();
///     std::vector<Shape> shapes();    // around the kernels' tiles
///     std::uint64_t derive(ImagePlanes<Executor>&, View<const float, 3, Host> image,
///                          const View<const float, 2, Host>* mask, View<float, 3, Host> planes);
///                                     // returns the number of its own allocations
///     void change();                  // between two runs that must yield the same bits
namespace aperture::corr {

using Values = core::Array<float, 3>;
using Mask = core::Array<float, 2>;

inline Mask third_of(Shape shape) {
    Mask mask({shape.rows, shape.columns});
    for (index_t i = 0; i < mask.size(); ++i) mask.data()[i] = i % 3 == 0 ? 0.5F : 0.0F;
    return mask;
}

/// The maximum difference from the Cpu's plane before normalization, which is twice the error of
/// each: 1e-4 for a*, 5e-5 for b*, 2.5e-5 for L* (tests of LabPlanes), and for an orientation with
/// faint slopes twice that of L*. The two differ in the order of fp32 operations only.
inline double bound_of(PlaneKind kind, index_t plane) {
    constexpr double eps = std::numeric_limits<float>::epsilon() / 2;
    switch (kind) {
        case PlaneKind::lab_orientation:
            return plane == 0 ? 2e-4 : 1e-4;
        case PlaneKind::grey:
            return 8 * 255 * eps;
        case PlaneKind::rgb:
            return 0;
        case PlaneKind::gradient:
            break;
    }
    return 16 * 255 * eps;
}

/// Normalization::plane in double precision.
inline std::vector<double> normalized(const Values& planes, index_t plane, const Mask* mask) {
    const index_t pixels = planes.extent()[1] * planes.extent()[2];
    const float* const from = planes.data() + plane * pixels;
    const auto chosen = [&](index_t i) { return mask == nullptr || mask->data()[i] != 0; };
    double count = 0;
    double sum = 0;
    double squares = 0;
    for (index_t i = 0; i < pixels; ++i) {
        if (!chosen(i)) continue;
        count += 1;
        sum += static_cast<double>(from[i]);
        squares += static_cast<double>(from[i]) * static_cast<double>(from[i]);
    }
    const double mean = count > 0 ? sum / count : 0;
    double energy = 0;
    for (index_t i = 0; i < pixels; ++i) {
        if (chosen(i)) energy += std::pow(static_cast<double>(from[i]) - mean, 2);
    }
    const double scale = energy > 1e-12 * squares ? 1 / std::sqrt(energy) : 0;
    std::vector<double> result;
    for (index_t i = 0; i < pixels; ++i) {
        result.push_back(scale * (static_cast<double>(from[i]) - mean));
    }
    return result;
}

/// Part of the runners of executors on host memory.
struct HostRunner {
    static std::string why_not() { return {}; }
    static std::vector<Shape> shapes() {
        return {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {31, 33}, {32, 32}, {33, 31}, {37, 67}};
    }
    template <class Executor>
    static std::uint64_t derive(ImagePlanes<Executor>& planes_of,
                                core::View<const float, 3, core::Host> image,
                                const core::View<const float, 2, core::Host>* mask,
                                core::View<float, 3, core::Host> planes) {
        const auto allocations = core::host_allocations();
        if (mask == nullptr) {
            planes_of.derive(image, planes);
        } else {
            planes_of.derive(image, *mask, planes);
        }
        return core::host_allocations() - allocations;
    }
};

template <class Runner>
class ImagePlanesSuite : public testing::Test {
  protected:
    using Executor = typename Runner::Executor;
    Runner runner;
    double orientation_sigma = default_orientation_sigma;

    void SetUp() override {
        const std::string reason = runner.why_not();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }

    /// Derives the planes twice and compares the bits. The first run reads and writes strided rows.
    Values derived(PlaneKind kind, Normalization normalization, const Values& image,
                   const Mask* mask = nullptr) {
        const auto [channels, rows, columns] = image.extent();
        const index_t count = plane_count(kind);
        constexpr float untouched = -7777.25F;
        Values frame({count, rows + 1, columns + 3});
        std::fill(frame.begin(), frame.end(), untouched);
        Values rows_apart({channels, rows + 2, columns + 1});
        std::fill(rows_apart.begin(), rows_apart.end(), std::nanf(""));
        for (index_t c = 0; c < channels; ++c) {
            for (index_t y = 0; y < rows; ++y) {
                std::copy_n(&image(c, y, 0), columns, &rows_apart(c, y, 0));
            }
        }
        ImagePlanes<Executor> planes_of(runner.executor(), kind, normalization, orientation_sigma);
        core::View<const float, 2, core::Host> view;
        if (mask != nullptr) view = *mask;
        const auto* const chosen = mask == nullptr ? nullptr : &view;
        runner.derive(planes_of, rows_apart.view().slice(1, 0, rows).slice(2, 0, columns), chosen,
                      frame.view().slice(1, 0, rows).slice(2, 0, columns));
        Values first({count, rows, columns});
        index_t changed = 0;
        for (index_t p = 0; p < count; ++p) {
            for (index_t y = 0; y < rows; ++y) {
                std::copy_n(&frame(p, y, 0), columns, &first(p, y, 0));
            }
        }
        for (const float value : frame) changed += value == untouched ? 0 : 1;
        EXPECT_EQ(changed, first.size());
        runner.change();
        Values second({count, rows, columns});
        std::fill(second.begin(), second.end(), std::nanf(""));
        EXPECT_EQ(runner.derive(planes_of, image, chosen, second), 0U);
        EXPECT_TRUE(tests::same_bytes(first, second)) << "a second run has other bits";
        return second;
    }

    static void expect_normalized(const Values& found, const Values& planes, const Mask* mask) {
        const index_t pixels = planes.extent()[1] * planes.extent()[2];
        for (index_t p = 0; p < planes.extent()[0]; ++p) {
            const std::vector<double> expected = normalized(planes, p, mask);
            double largest = 0;
            for (const double value : expected) largest = std::max(largest, std::abs(value));
            for (index_t i = 0; i < pixels; ++i) {
                ASSERT_NEAR(found.data()[p * pixels + i], expected[static_cast<std::size_t>(i)],
                            2e-7 * largest)
                    << "plane " << p << ", pixel " << i;
            }
        }
    }
};
TYPED_TEST_SUITE_P(ImagePlanesSuite);

template <class Runner>
class ImagePlanesLikeCpuSuite : public ImagePlanesSuite<Runner> {
  protected:
    Values on_cpu(PlaneKind kind, const Values& image) const {
        core::Cpu cpu(2);
        Values planes({plane_count(kind), image.extent()[1], image.extent()[2]});
        ImagePlanes<core::Cpu>(cpu, kind, Normalization::none, this->orientation_sigma)
            .derive(image, planes);
        return planes;
    }

    static void expect_planes(PlaneKind kind, const Values& found, const Values& expected) {
        for (index_t p = 0; p < plane_count(kind); ++p) {
            for (index_t y = 0; y < found.extent()[1]; ++y) {
                for (index_t x = 0; x < found.extent()[2]; ++x) {
                    ASSERT_NEAR(found(p, y, x), expected(p, y, x), bound_of(kind, p))
                        << "plane " << p << " at " << y << ' ' << x;
                }
            }
        }
    }
};
TYPED_TEST_SUITE_P(ImagePlanesLikeCpuSuite);

TYPED_TEST_P(ImagePlanesLikeCpuSuite, PlanesAreTheCpus) {
    for (const Shape shape : this->runner.shapes()) {
        for (const index_t channels : {1, 3}) {
            for (const PlaneKind kind : every_kind) {
                SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << ", kind "
                                                << static_cast<int>(kind));
                const Values image = noise_image(channels, shape);
                this->expect_planes(kind, this->derived(kind, Normalization::none, image),
                                    this->on_cpu(kind, image));
            }
        }
    }
}

TYPED_TEST_P(ImagePlanesLikeCpuSuite, OrientationsOfFaintImagesAreTheCpus) {
    const PlaneKind kind = PlaneKind::lab_orientation;
    for (const float contrast : {8.0F, 1.0F}) {
        for (const float ground : {2.0F, 120.0F}) {
            const Values image = noise_image(3, {35, 41}, contrast, ground);
            this->expect_planes(kind, this->derived(kind, Normalization::none, image),
                                this->on_cpu(kind, image));
        }
    }
}

TYPED_TEST_P(ImagePlanesLikeCpuSuite, OrientationsOfOtherSigmasAreTheCpus) {
    const PlaneKind kind = PlaneKind::lab_orientation;
    for (const double sigma : {0.5, 1.7, 2.5, 9.0}) {
        SCOPED_TRACE(testing::Message() << "sigma " << sigma);
        this->orientation_sigma = sigma;
        for (const Shape shape : this->runner.shapes()) {
            const Values image = noise_image(3, shape);
            const Mask mask = third_of(shape);
            const Values planes = this->derived(kind, Normalization::none, image);
            this->expect_planes(kind, planes, this->on_cpu(kind, image));
            this->expect_normalized(this->derived(kind, Normalization::plane, image, &mask), planes,
                                    &mask);
        }
    }
}

TYPED_TEST_P(ImagePlanesSuite, NormalizedPlanesHaveNoMeanAndUnitEnergy) {
    for (const Shape shape : this->runner.shapes()) {
        const Mask mask = third_of(shape);
        for (const PlaneKind kind : every_kind) {
            const Values image = noise_image(3, shape);
            const Values planes = this->derived(kind, Normalization::none, image);
            for (const Mask* chosen : {static_cast<const Mask*>(nullptr), &mask}) {
                SCOPED_TRACE(testing::Message()
                             << shape.rows << " x " << shape.columns << ", kind "
                             << static_cast<int>(kind) << (chosen == nullptr ? "" : ", masked"));
                this->expect_normalized(this->derived(kind, Normalization::plane, image, chosen),
                                        planes, chosen);
            }
        }
    }
}

TYPED_TEST_P(ImagePlanesSuite, ConstantPlanesAreZero) {
    for (const Shape shape : {Shape{1, 1}, Shape{33, 40}}) {
        for (const index_t channels : {1, 3}) {
            for (const PlaneKind kind : every_kind) {
                const Values planes =
                    this->derived(kind, Normalization::plane,
                                  constant_image(channels, shape, {33.3F, 77.7F, 11.1F}));
                for (const float value : planes) ASSERT_EQ(value, 0.0F);
            }
        }
    }
}

TYPED_TEST_P(ImagePlanesSuite, PlanesOfRoundingAreZero) {
    // All colours have the same luma up to rounding.
    Values image = noise_image(3, {20, 50});
    for (index_t y = 0; y < 20; ++y) {
        for (index_t x = 0; x < 50; ++x) {
            image(1, y, x) = (120 - 0.299F * image(0, y, x) - 0.114F * image(2, y, x)) / 0.587F;
        }
    }
    const Values luma = this->derived(PlaneKind::grey, Normalization::none, image);
    EXPECT_NE(*std::ranges::min_element(luma), *std::ranges::max_element(luma));
    for (const float value : this->derived(PlaneKind::grey, Normalization::plane, image)) {
        ASSERT_EQ(value, 0.0F);
    }
}

TYPED_TEST_P(ImagePlanesSuite, PlanesOfNoChosenPixelAreZero) {
    const Values image = noise_image(3, {20, 40});
    Mask mask({20, 40});
    std::fill(mask.begin(), mask.end(), 0.0F);
    for (const PlaneKind kind : every_kind) {
        for (const float value : this->derived(kind, Normalization::plane, image, &mask)) {
            ASSERT_EQ(value, 0.0F);
        }
    }
}

TYPED_TEST_P(ImagePlanesSuite, GreyImagesHaveNoColourAtAll) {
    const Values grey = noise_image(1, {33, 40});
    Values same({3, 33, 40});
    for (index_t c = 0; c < 3; ++c) std::copy(grey.begin(), grey.end(), &same(c, 0, 0));
    for (const Values* image : {&grey, static_cast<const Values*>(&same)}) {
        const Values planes =
            this->derived(PlaneKind::lab_orientation, Normalization::none, *image);
        for (index_t i = 0; i < 2 * grey.size(); ++i) ASSERT_EQ(planes.data()[i], 0.0F);
    }
}

REGISTER_TYPED_TEST_SUITE_P(ImagePlanesSuite, NormalizedPlanesHaveNoMeanAndUnitEnergy,
                            ConstantPlanesAreZero, PlanesOfRoundingAreZero,
                            PlanesOfNoChosenPixelAreZero, GreyImagesHaveNoColourAtAll);
REGISTER_TYPED_TEST_SUITE_P(ImagePlanesLikeCpuSuite, PlanesAreTheCpus,
                            OrientationsOfFaintImagesAreTheCpus,
                            OrientationsOfOtherSigmasAreTheCpus);

}  // namespace aperture::corr
