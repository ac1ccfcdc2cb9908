// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose_operations/flow.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/error.hpp"
#include "aperture/flow/warp.hpp"
#include "libflow/image_model.hpp"
#include "tests/compose/refusal.hpp"
#include "tests/compose/simt_executable.hpp"
#include "tests/compose_operations/programs.hpp"
#include "tests/compose_operations/registry.hpp"
#include "tests/flow/scene.hpp"

namespace aperture::compose {
namespace {

using flow::Flow;
using flow::Image;
using flow::Shape;
using tests::same_bytes;

/// How a program runs. The results of all are the same bits.
struct Way {
    Fusion fusion;
    Tier tier;
    int threads;
    bool simt = false;  ///< Kernels for GPUs on the host.
};
constexpr Way fused{Fusion::thesis, Tier::compiled, 2};
constexpr Way ways[] = {fused,
                        {Fusion::thesis, Tier::interpreted, 2},
                        {Fusion::thesis, Tier::compiled, 1, true},
                        {Fusion::none, Tier::compiled, 1},
                        {Fusion::none, Tier::interpreted, 1}};

void run(const std::string& text, const Arguments& arguments, const std::vector<Argument>& results,
         const Way& way = fused) {
    Plan planned = plan(parse(text), registry(), way.fusion);
    if (way.simt) {
        core::Simt simt;
        SimtExecutable(std::move(planned)).run(simt, arguments, results);
        return;
    }
    core::Cpu cpu(way.threads);
    Executable<core::Cpu>(cpu, std::move(planned), way.tier).run(cpu, arguments, results);
}

template <class SomeFlow>
Argument plane(SomeFlow& flow, index_t i) {
    return argument(&flow(i, 0, 0), {flow.extent()[1], flow.extent()[2]});
}
template <class SomeImage>
Argument whole(SomeImage& image) {
    return argument(image.data(), {image.extent()[0], image.extent()[1]});
}
std::string image_type(Shape shape) {
    return text_of(array(Dtype::f32, {shape.rows, shape.columns}));
}

Image random_image(Shape shape, unsigned seed) {
    return signal::random_image({shape.rows, shape.columns}, seed);
}

/// Some move out of the image, some far, some are not finite.
Flow wild_flow(Shape shape) {
    std::mt19937 generator(3);
    std::normal_distribution<float> normal(0, 4);
    Flow flow = flow::flow_of(
        shape, [&](index_t, index_t) { return normal(generator); },
        [&](index_t, index_t) { return normal(generator); });
    const float strange[] = {flow::nan, flow::infinity, -flow::infinity, 3e38F, -3e38F, 1e9F};
    index_t i = 0;
    for (const float value : strange) {
        flow.data()[(7 * i++) % flow.size()] = value;
    }
    return flow;
}

class ComposeFlow : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, ComposeFlow,
                         testing::Values(Shape{1, 1}, Shape{1, 9}, Shape{9, 1}, Shape{17, 33},
                                         Shape{40, 301}));

TEST_P(ComposeFlow, WarpsAsLibflowDoesInTheKernelOfItsNeighbours) {
    const Shape shape = GetParam();
    const std::string image = image_type(shape);
    const std::string text = "program p { input I: " + image + "; input u: " + image +
                             "; input v: " + image + "; number half: f32 = 0.5; local x: " + image +
                             "; local y: " + image +
                             "; x = add(u, half); y = warp(I, x, v); y = add(y, half); return y; }";
    EXPECT_EQ(plan(parse(text), registry(), Fusion::thesis).kernels().size(), 1u);
    const Image from = random_image(shape, 1);
    const Flow flow = wild_flow(shape);
    Flow moved = flow::flow_of(
        shape, [&](index_t y, index_t x) { return flow(0, y, x) + 0.5F; },
        [&](index_t y, index_t x) { return flow(1, y, x); });
    core::Cpu cpu(1);
    Image expected({shape.rows, shape.columns});
    flow::warp(cpu, from, moved, signal::Interpolation::bilinear, expected);
    for (float& value : expected) value += 0.5F;
    for (const Way& way : ways) {
        Image found({shape.rows, shape.columns});
        run(text, {{"I", whole(from)}, {"u", plane(flow, 0)}, {"v", plane(flow, 1)}},
            {whole(found)}, way);
// Sanitized code of libflow is not optimised enough to be contracted.
#if defined(__FP_FAST_FMAF) && !defined(APERTURE_SANITIZE)
        EXPECT_TRUE(same_bytes(found, expected));
#else
        for (index_t i = 0; i < found.size(); ++i) {
            EXPECT_NEAR(found.data()[i], expected.data()[i], 1e-6F);
        }
#endif
    }
}

TEST_P(ComposeFlow, KnowsWhereAFlowLeavesTheImage) {
    const Shape shape = GetParam();
    const std::string image = image_type(shape);
    const std::string text = "program p { input u: " + image + "; input v: " + image +
                             "; number one: f32 = 1; number two: f32 = 2; local m: array bool" +
                             image.substr(9) + "; local y: " + image +
                             "; m = lands_inside(u, v); y = select(m, one, two); return y; }";
    const Flow flow = wild_flow(shape);
    for (const Way& way : ways) {
        Image found({shape.rows, shape.columns});
        run(text, {{"u", plane(flow, 0)}, {"v", plane(flow, 1)}}, {whole(found)}, way);
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                const double to_x = double(x) + flow(0, y, x), to_y = double(y) + flow(1, y, x);
                const bool inside = to_x >= 0 && to_x <= double(shape.columns - 1) && to_y >= 0 &&
                                    to_y <= double(shape.rows - 1);
                EXPECT_EQ(found(y, x), inside ? 1 : 2);
            }
        }
    }
}

/// The solution of a window in double; zero without texture.
std::array<double, 2> solved(const Image& error, const Image& across, const Image& down, index_t y,
                             index_t x, int half, double regularisation) {
    const flow::Plane e(error), gx(across), gy(down);
    double j11 = 0, j12 = 0, j22 = 0, b0 = 0, b1 = 0;
    for (index_t i = y - half; i <= y + half; ++i) {
        for (index_t j = x - half; j <= x + half; ++j) {
            j11 += gx(i, j) * gx(i, j);
            j12 += gx(i, j) * gy(i, j);
            j22 += gy(i, j) * gy(i, j);
            b0 += gx(i, j) * e(i, j);
            b1 += gy(i, j) * e(i, j);
        }
    }
    const double pixels = (2.0 * half + 1) * (2.0 * half + 1);
    const double smaller = (j11 + j22) / 2 - std::hypot((j11 - j22) / 2, j12);
    if (smaller < flow::least_eigenvalue * pixels) return {0, 0};
    j11 += regularisation * pixels;
    j22 += regularisation * pixels;
    const double determinant = j11 * j22 - j12 * j12;
    return {(j22 * b0 - j12 * b1) / determinant, (j11 * b1 - j12 * b0) / determinant};
}

TEST_P(ComposeFlow, SolvesTheLeastSquaresOfWindows) {
    const Shape shape = GetParam();
    const std::string image = image_type(shape);
    Image error = random_image(shape, 1), across = random_image(shape, 2),
          down = random_image(shape, 3);
    for (const int window : {3, 9}) {
        const std::string text = "program p { input e: " + image + "; input gx: " + image +
                                 "; input gy: " + image + "; local u: " + image +
                                 "; local v: " + image +
                                 "; u, v = lk_least_squares<window = " + std::to_string(window) +
                                 ", regularisation = 0.05>(e, gx, gy); return u, v; }";
        const Arguments arguments{{"e", whole(error)}, {"gx", whole(across)}, {"gy", whole(down)}};
        Flow first;
        for (const Way& way : ways) {
            Flow found = flow::constant_flow(shape, flow::nan, flow::nan);
            run(text, arguments, {plane(found, 0), plane(found, 1)}, way);
            if (&way == ways) {
                first = std::move(found);
            } else {
                EXPECT_TRUE(same_bytes(first, found)) << window;
            }
        }
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                const auto expected = solved(error, across, down, y, x, window / 2, 0.05);
                // The condition of the sums is at most 30 here, their rounding some units.
                for (const index_t i : {0, 1}) EXPECT_NEAR(first(i, y, x), expected[i], 2e-5);
            }
        }
    }
}

TEST(ComposeFlow, WindowsWithoutTextureDoNotMove) {
    const Shape shape{12, 20};
    const std::string image = image_type(shape);
    const Image error = random_image(shape, 1);
    const Image across = random_image(shape, 2);
    const Image flat = flow::image_of(shape, [](index_t, index_t) { return 0; });
    Flow found = flow::constant_flow(shape, flow::nan, flow::nan);
    run("program p { input e: " + image + "; input gx: " + image + "; input gy: " + image +
            "; local u: " + image + "; local v: " + image +
            "; u, v = lk_least_squares(e, gx, gy); return u, v; }",
        {{"e", whole(error)}, {"gx", whole(across)}, {"gy", whole(flat)}},
        {plane(found, 0), plane(found, 1)});
    for (const float component : found) EXPECT_EQ(component, 0);
}

/// The parameters of libflow that do what programs 11 and 16 do.
flow::Parameters parameters_of(const FlowProgram& program, flow::Method method) {
    flow::Parameters p;
    p.method = method;
    if (method == flow::Method::horn_schunck) p.alpha = program.alpha;
    p.levels = 1;
    p.warps = program.warps;
    p.median = 0;
    p.blur = 0;
    p.largest_update = 0;
    p.interpolation = signal::Interpolation::bilinear;
    p.smooth_increment = true;
    p.solver = {.solver = flow::Solver::block2x2, .iterations = program.sweeps};
    return p;
}

double largest_difference(const Flow& a, const Flow& b) {
    double largest = 0;
    for (index_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(double(a.data()[i]) - b.data()[i]);
        largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
    }
    return largest;
}

/// Runs a program on images and flow in the first of the ways: kernels for each of its calls would
/// take long to compile.
Flow estimated(const std::string& text, const flow::ImagePair& pair) {
    const Shape shape{pair.image0.extent()[0], pair.image0.extent()[1]};
    Flow first;
    for (const Way& way : std::span(ways).first(3)) {
        Flow flow = flow::constant_flow(shape, 0, 0), returned = flow::constant_flow(shape, 0, 0);
        run(text,
            {{"I0", whole(pair.image0)},
             {"I1", whole(pair.image1)},
             {"u", plane(flow, 0)},
             {"v", plane(flow, 1)}},
            {plane(returned, 0), plane(returned, 1)}, way);
        EXPECT_TRUE(same_bytes(flow, returned));
        if (&way == ways) {
            first = std::move(flow);
        } else {
            EXPECT_TRUE(same_bytes(first, flow));
        }
    }
    return first;
}

constexpr Shape scene_shape{60, 83};
const flow::ImagePair& pair_of_scenes() {
    static const flow::ImagePair pair(flow::Scene(), scene_shape,
                                      flow::Motion::about_middle(scene_shape, 0.01, 1.01));
    return pair;
}

TEST(ComposeFlow, HornSchunckIsLibflows) {
    const FlowProgram program{scene_shape.rows, scene_shape.columns, 3, 60, 4};
    const flow::ImagePair& pair = pair_of_scenes();
    const Flow found = estimated(program.horn_schunck(), pair);
    const Flow expected = flow::estimated(pair.image0, pair.image1,
                                          parameters_of(program, flow::Method::horn_schunck));
    RecordProperty("largest difference", std::to_string(largest_difference(found, expected)));
    // Rounding of a few hundred sums.
    EXPECT_LT(largest_difference(found, expected), 2e-5);
    EXPECT_LT(flow::mean_of(flow::distances(found, pair.truth, 4)), 0.1);
}

TEST(ComposeFlow, LucasKanadeIsLibflows) {
    const FlowProgram program{scene_shape.rows, scene_shape.columns, 4};
    const flow::ImagePair& pair = pair_of_scenes();
    const Flow found = estimated(program.lucas_kanade(9, 0.1), pair);
    const Flow expected = flow::estimated(pair.image0, pair.image1,
                                          parameters_of(program, flow::Method::lucas_kanade));
    RecordProperty("largest difference", std::to_string(largest_difference(found, expected)));
    EXPECT_LT(largest_difference(found, expected), 2e-5);
    EXPECT_LT(flow::mean_of(flow::distances(found, pair.truth, 4)), 0.1);
}

TEST(ComposeFlow, LucasKanadeAsPrintedFindsTheMotion) {
    const FlowProgram program{scene_shape.rows, scene_shape.columns, 4};
    const std::string text = program.lucas_kanade_as_printed();
    EXPECT_THAT(explain(plan(parse(text), registry(), Fusion::thesis)),
                testing::HasSubstr(": warp warp warp subtract\n"));
    const flow::ImagePair& pair = pair_of_scenes();
    Flow found = flow::constant_flow(scene_shape, 0, 0), returned(found.extent());
    run(text,
        {{"I1", whole(pair.image0)},
         {"I2", whole(pair.image1)},
         {"u", plane(found, 0)},
         {"v", plane(found, 1)}},
        {plane(returned, 0), plane(returned, 1)});
    EXPECT_TRUE(same_bytes(found, returned));
    EXPECT_LT(flow::mean_of(flow::distances(found, pair.truth, 4)), 0.1);
}

TEST(ComposeFlow, TheSweepsOfHornSchunckAreOneKernel) {
    const FlowProgram program{32, 40, 2, 5, 4};
    const std::string text =
        explain(plan(parse(program.horn_schunck()), registry(), Fusion::thesis));
    EXPECT_THAT(text, testing::HasSubstr(R"(32 x 40: warp lands_inside subtract
)"));
    EXPECT_THAT(text,
                testing::HasSubstr(
                    ": stencil_product stencil_product multiply_add multiply_add multiply_add "
                    "multiply_add divide multiply subtract multiply subtract\n"));
    EXPECT_THAT(text, testing::HasSubstr("copy copy, by an exchange of memory"));
}

TEST(ComposeFlow, SaysWhatIsWrong) {
    const auto message = [](const std::string& statement) {
        return refusal(
            "program p { input I: array f32[8, 9]; input J: array f32[9, 8];"
            "input d: array f64[8, 9]; local y: array f32[8, 9];"
            "local z: array f32[8, 9];" +
                statement + " return y; }",
            registry());
    };
    const std::pair<const char*, const char*> cases[] = {
        {"y = warp(I, I);", "warp has 3 operands, not 2"},
        {"y = warp(I, J, I);", "their extents differ"},
        {"y = warp(d, d, d);", "the image is a array f64[8, 9]"},
        {"y = warp<size = 3>(I, I, I);", "warp has no attribute size"},
        {"y, z = lk_least_squares<window = 4>(I, I, I);", "<window = 4>: expected an odd number"},
        {"y, z = lk_least_squares<regularisation = -1>(I, I, I);", "expected 0 or more"},
    };
    for (const auto& [statement, expected] : cases) {
        EXPECT_THAT(message(statement), testing::HasSubstr(expected));
    }
}

}  // namespace
}  // namespace aperture::compose
