// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/estimator.hpp"

#include <algorithm>

#include "tests/flow/estimator_suite.hpp"

namespace aperture::flow {
namespace {

using testing::ElementsAre;

struct CpuRunner {
    using Executor = core::Cpu;
    core::Cpu cpu{2};

    static std::string why_not() { return {}; }
    core::Cpu& executor() { return cpu; }
    /// warp_test.cpp compares with the oracle.
    static std::vector<Shape> warp_shapes() { return {}; }
    void change() {}
    std::uint64_t run(Estimator<core::Cpu>& estimator, ImageView<core::Host> image0,
                      ImageView<core::Host> image1, FlowView<core::Host> flow, bool start) {
        const auto allocations = core::host_allocations();
        estimator.run(image0, image1, flow, start, nullptr);
        return core::host_allocations() - allocations;
    }
    void warp(ImageView<core::Host>, ConstFlowView<core::Host>, signal::Interpolation,
              core::View<float, 2, core::Host>) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, EstimatorSuite, CpuRunner);

class EverySetup : public testing::TestWithParam<Setup> {};

INSTANTIATE_TEST_SUITE_P(Setups, EverySetup, testing::ValuesIn(all_setups()),
                         [](const auto& instance) { return name_of(instance.param); });

struct Levels {
    float first;
    float second;
};

float largest_between_constants(Shape shape, Levels levels, const Parameters& parameters) {
    const auto constant = [&](float level) {
        return image_of(shape, [=](index_t, index_t) { return level; });
    };
    float largest = 0;
    for (const float component :
         estimated(constant(levels.first), constant(levels.second), parameters)) {
        if (!std::isfinite(component)) return infinity;
        largest = std::max(largest, std::abs(component));
    }
    return largest;
}

TEST_P(EverySetup, FindsNoFlowBetweenConstantImages) {
    // The levels of a pyramid are constant up to rounding, which must not act as a gradient.
    const Shape shape{61, 83};
    for (const Levels levels :
         {Levels{0, 0}, Levels{0, 255}, Levels{37.3F, 201.7F}, Levels{90.1F, 89.9F}}) {
        for (const double scale : {0.5, 0.7}) {
            Parameters parameters = GetParam().parameters();
            parameters.scale = scale;
            EXPECT_LT(largest_between_constants(shape, levels, parameters), 1e-3)
                << levels.first << " and " << levels.second << ", scale " << scale;
        }
    }
}

TEST_P(EverySetup, GivesTheSameBitsOnAnyNumberOfThreads) {
    const Shape shape{45, 67};
    const ImagePair pair(Scene(4), shape, Motion::shift(1.3, -0.7));
    Parameters parameters = GetParam().parameters();
    parameters.solver.iterations = std::min(parameters.solver.iterations, 20);
    const Flow reference = estimated(pair.image0, pair.image1, parameters, 1);
    for (int threads : {2, 3}) {
        EXPECT_TRUE(same_bytes(estimated(pair.image0, pair.image1, parameters, threads), reference))
            << threads << " threads";
    }
}

/// Parameters with one level and one linearisation.
Parameters single_warp(Method method) {
    Parameters parameters = preset(Preset::fast, method);
    parameters.levels = 1;
    parameters.warps = 1;
    parameters.solver.iterations = 10;
    return parameters;
}

class EveryMethod : public testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod,
                         testing::Values(Method::horn_schunck, Method::lucas_kanade),
                         [](const auto& instance) {
                             return instance.param == Method::horn_schunck ? "hs" : "lk";
                         });

TEST_P(EveryMethod, TakesTheStartThroughThePyramid) {
    // Half of each extent is rounded. Bilinear resampling and medians of symmetric windows
    // reproduce a linear flow.
    const Shape shape{93, 131};
    const ImagePair pair(Scene(8), shape, {});
    const Flow start = flow_of(
        shape, [](index_t y, index_t x) { return 0.05 * static_cast<double>(x - y) + 3; },
        [](index_t y, index_t x) { return 0.02 * static_cast<double>(x + y) - 2; });
    Parameters parameters = preset(Preset::fast, GetParam());
    parameters.levels = 3;
    parameters.warps = 1;
    parameters.largest_update = 1e-6;
    Flow flow = flow_of(
        shape, [&](index_t y, index_t x) { return start(0, y, x); },
        [&](index_t y, index_t x) { return start(1, y, x); });
    core::Cpu cpu(1);
    Estimator<core::Cpu>(cpu, shape, parameters).run(pair.image0, pair.image0, flow, true, nullptr);
    // Outside the influence of the replicated border: two medians and half a cell of four pixels.
    EXPECT_LT(distances(flow, start, 20).back(), 1e-3);
}

TEST_P(EveryMethod, StretchesTheFlowOfACoarserLevelByTheRatioOfTheExtents) {
    // The coarser level is 17 x 65. Both levels add the maximum update almost everywhere.
    const Shape shape{33, 130};
    const ImagePair pair(Scene(13), shape, Motion::shift(1.5, 1.5));
    Parameters parameters = single_warp(GetParam());
    parameters.levels = 2;
    parameters.largest_update = 0.25;
    const Flow flow = estimated(pair.image0, pair.image1, parameters);
    const auto median = [&](const float* plane) {
        std::vector<float> values(plane, plane + shape.rows * shape.columns);
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    };
    EXPECT_NEAR(median(&flow(0, 0, 0)), 0.25 * (1 + 130 / 65.0), 1e-6);
    EXPECT_NEAR(median(&flow(1, 0, 0)), 0.25 * (1 + 33 / 17.0), 1e-6);
}

TEST_P(EveryMethod, ChangesNoComponentByMoreThanTheLargestUpdate) {
    const Shape shape{40, 56};
    const ImagePair pair(Scene(9), shape, Motion::shift(3, -3));
    for (const double largest : {0.125, 1.0}) {
        Parameters parameters = single_warp(GetParam());
        parameters.largest_update = largest;
        const auto bound = static_cast<float>(largest);
        const Flow once = estimated(pair.image0, pair.image1, parameters);
        EXPECT_EQ(*std::max_element(once.begin(), once.end()), bound);
        EXPECT_EQ(*std::min_element(once.begin(), once.end()), -bound);
        parameters.warps = 2;
        parameters.median = 0;
        const Flow twice = estimated(pair.image0, pair.image1, parameters);
        EXPECT_EQ(*std::max_element(twice.begin(), twice.end()), 2 * bound);
    }
    Parameters free = single_warp(GetParam());
    free.largest_update = 0;
    const Flow flow = estimated(pair.image0, pair.image1, free);
    EXPECT_GT(*std::max_element(flow.begin(), flow.end()), 1.5F);
}

TEST_P(EveryMethod, MovesItsFlowWithTheImages) {
    // Where windows and filters do not reach the border, only the rounding of positions up to 112
    // pixels differs. In Horn & Schunck's method the influence of the border decays by a factor of
    // e per alpha over the gradient, about a pixel, and more slowly where the scene is flat.
    const Shape shape{96, 112};
    const index_t dy = 3;
    const index_t dx = 5;
    const Scene scene(10);
    const Motion motion{1.01, 0.01, 0.3, -0.01, 0.99, -0.2};
    const Motion back = motion.inverse();
    const auto image = [&](index_t from_y, index_t from_x, const Motion& by) {
        return image_of(shape, [&, from_y, from_x](index_t y, index_t x) {
            const auto [at_x, at_y] =
                by(static_cast<double>(x + from_x), static_cast<double>(y + from_y));
            return scene(at_x, at_y);
        });
    };
    Parameters parameters = single_warp(GetParam());
    parameters.warps = 2;
    parameters.solver.solver = Solver::cg;
    parameters.solver.iterations = 500;
    parameters.solver.tolerance = 1e-6;
    const Flow here = estimated(image(0, 0, {}), image(0, 0, back), parameters);
    const Flow there = estimated(image(dy, dx, {}), image(dy, dx, back), parameters);
    double worst = 0;
    double farthest = 0;
    for (index_t y = 30; y < shape.rows - 30 - dy; ++y) {
        for (index_t x = 30; x < shape.columns - 30 - dx; ++x) {
            for (index_t i : {0, 1}) {
                const double moved = here(i, y + dy, x + dx);
                ASSERT_TRUE(std::isfinite(moved) && std::isfinite(there(i, y, x)));
                worst = std::max(worst, std::abs(moved - there(i, y, x)));
                farthest = std::max(farthest, std::abs(moved));
            }
        }
    }
    EXPECT_LT(worst, GetParam() == Method::horn_schunck ? 3e-4 : 5e-7);
    EXPECT_GT(farthest, 0.3);
}

TEST_P(EveryMethod, TimesItsStages) {
    const Shape shape{64, 64};
    const ImagePair pair(Scene(11), shape, Motion::shift(0.5, 0.5));
    core::Cpu cpu(1);
    Flow flow = constant_flow(shape, 0, 0);
    core::Timeline timeline;
    timeline.begin_run();
    Estimator<core::Cpu>(cpu, shape, preset(Preset::fast, GetParam()))
        .run(pair.image0, pair.image1, flow, false, &timeline);
    std::vector<std::string> names;
    for (const core::Stage& stage : timeline.stages()) {
        names.push_back(stage.name);
        EXPECT_GT(stage.ms, 0) << stage.name;
    }
    EXPECT_THAT(names, ElementsAre("pyramid", "warp", "derivatives", "solve", "median"));
}

TEST(WatchedConvergence, HoldsTheResidualsOfTheFinestLevelsFirstWarp) {
    const Shape shape{64, 80};
    const ImagePair pair(Scene(12), shape, Motion::shift(1, 0.5));
    core::Cpu cpu(1);
    Parameters parameters = preset(Preset::fast, Method::horn_schunck);
    parameters.solver.solver = Solver::multigrid;
    parameters.solver.iterations = 6;
    parameters.smooth_increment = true;
    Estimator<core::Cpu> estimator(cpu, shape, parameters);
    std::vector<double> residuals;
    estimator.watch_convergence(&residuals);
    const Flow unwatched = estimated(pair.image0, pair.image1, parameters);
    for (int run : {1, 2}) {
        Flow flow = constant_flow(shape, nan, nan);
        estimator.run(pair.image0, pair.image1, flow, false, nullptr);
        EXPECT_TRUE(same_bytes(flow, unwatched)) << "run " << run;
        ASSERT_EQ(residuals.size(), 7U) << "run " << run;
        // The increment starts at zero. Both norms are summed in packs of float.
        EXPECT_NEAR(residuals.front(), 1, 1e-6);
        EXPECT_LT(residuals.back(), 1e-3);
    }
    residuals.clear();
    estimator.watch_convergence(nullptr);
    Flow flow = constant_flow(shape, nan, nan);
    estimator.run(pair.image0, pair.image1, flow, false, nullptr);
    EXPECT_TRUE(residuals.empty());
}

}  // namespace
}  // namespace aperture::flow
