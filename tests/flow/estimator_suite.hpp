// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "aperture/core/error.hpp"
#include "aperture/flow/warp.hpp"
#include "tests/flow/scene.hpp"

/// Every executor's estimator compared with the Cpu's, and tests that need no reference.
///
/// A Runner runs the library on host views and copies data if its executor has memory of its own:
///     using Executor;
///     std::string why_not();            // not empty: the reason to skip the suite
///     Executor& executor();
///     std::vector<Shape> warp_shapes();
///     std::uint64_t run(Estimator<Executor>&, Input image0, Input image1, FlowView<Host>,
///                       bool start);  // the allocations that it made in the executor's memory
///     void warp(Input image, ConstFlowView<Host>, Interpolation, View<float, 2, Host> to);
///     void change();  // between two runs that must yield the same bits
namespace aperture::flow {

template <class Runner>
class EstimatorSuite : public testing::Test {
  protected:
    Runner runner;

    void SetUp() override {
        const std::string reason = runner.why_not();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }

    Flow estimated_here(const Image& image0, const Image& image1, const Parameters& parameters) {
        const Shape shape{image0.extent()[0], image0.extent()[1]};
        Flow flow = constant_flow(shape, nan, nan);
        Estimator<typename Runner::Executor> estimator(runner.executor(), shape, parameters);
        runner.run(estimator, image0, image1, flow, false);
        return flow;
    }
    static float largest_difference(const Flow& flow, const Flow& expected) {
        float largest = 0;
        for (index_t i = 0; i < flow.size(); ++i) {
            const float difference = std::abs(flow.data()[i] - expected.data()[i]);
            if (!(difference <= largest)) largest = difference;
        }
        return largest;
    }
    /// Expects the Cpu's flow from both ways to distribute the stages over kernels.
    void expect_the_cpus(const ImagePair& pair, Parameters parameters, float tolerance) {
        const Flow expected = estimated(pair.image0, pair.image1, parameters);
        for (const Implementation how : {Implementation::fused, Implementation::staged}) {
            parameters.solver.implementation = how;
            EXPECT_LE(
                largest_difference(estimated_here(pair.image0, pair.image1, parameters), expected),
                tolerance)
                << (how == Implementation::fused ? "fused" : "staged");
        }
    }
    /// Expects the Cpu's flow from one warp of the image itself, beginning with `start`: no error
    /// of a stage is hidden by the stages after it.
    void expect_the_cpus_warp(const ImagePair& pair, const Flow& start, Parameters parameters,
                              float tolerance) {
        const Shape shape{start.extent()[1], start.extent()[2]};
        parameters.levels = 1;
        parameters.warps = 1;
        parameters.solver.iterations = std::min(parameters.solver.iterations, 4);
        const auto begun = [&] {
            return flow_of(
                shape, [&](index_t y, index_t x) { return start(0, y, x); },
                [&](index_t y, index_t x) { return start(1, y, x); });
        };
        Flow expected = begun();
        core::Cpu cpu;
        Estimator<core::Cpu>(cpu, shape, parameters)
            .run(pair.image0, pair.image1, expected, true, nullptr);
        for (const Implementation how : {Implementation::fused, Implementation::staged}) {
            parameters.solver.implementation = how;
            Estimator<typename Runner::Executor> estimator(runner.executor(), shape, parameters);
            Flow flow = begun();
            runner.run(estimator, pair.image0, pair.image1, flow, true);
            EXPECT_LE(largest_difference(flow, expected), tolerance)
                << shape.rows << " x " << shape.columns
                << (how == Implementation::fused ? ", fused" : ", staged");
            runner.change();
        }
    }
    static Parameters short_run(const flow::Setup& setup) {
        Parameters parameters = setup.parameters();
        parameters.solver.iterations = std::min(parameters.solver.iterations, 20);
        if (parameters.weighted_median) {
            parameters.levels = 2;
            parameters.warps = 2;
        }
        return parameters;
    }
};
TYPED_TEST_SUITE_P(EstimatorSuite);

TYPED_TEST_P(EstimatorSuite, FlowsAreTheCpus) {
    // Rounding changes weakly determined flows more: the solver stops far from its solution, and
    // each warp and level starts from the result of the one before.
    const ImagePair pair(Scene(4), {45, 67}, Motion::shift(1.3, -0.7));
    for (const Setup& setup : all_setups()) {
        SCOPED_TRACE(name_of(setup));
        this->expect_the_cpus(pair, this->short_run(setup), 2e-3F);
    }
}

TYPED_TEST_P(EstimatorSuite, FlowsOfOtherParametersAreTheCpus) {
    const ImagePair pair(Scene(5), {37, 50}, Motion::about_middle({37, 50}, 0.02, 1.03));
    const auto check = [&](const char* what, Method method, const auto& change) {
        SCOPED_TRACE(what);
        Parameters parameters = preset(Preset::fast, method);
        change(parameters);
        this->expect_the_cpus(pair, parameters, 2e-3F);
    };
    check("bilinear", Method::horn_schunck,
          [](Parameters& p) { p.interpolation = signal::Interpolation::bilinear; });
    check("median of 3", Method::horn_schunck, [](Parameters& p) { p.median = 3; });
    check("median of 7", Method::horn_schunck, [](Parameters& p) { p.median = 7; });
    check("no median", Method::horn_schunck, [](Parameters& p) { p.median = 0; });
    check("no limit", Method::horn_schunck, [](Parameters& p) { p.largest_update = 0; });
    check("small updates", Method::horn_schunck, [](Parameters& p) { p.largest_update = 0.125; });
    check("scale 0.7", Method::horn_schunck, [](Parameters& p) { p.scale = 0.7; });
    check("one level", Method::horn_schunck, [](Parameters& p) { p.levels = 1; });
    check("increments", Method::horn_schunck, [](Parameters& p) { p.smooth_increment = true; });
    check("window of 15", Method::lucas_kanade, [](Parameters& p) { p.window = 15; });
    check("no regularisation", Method::lucas_kanade, [](Parameters& p) { p.regularisation = 0; });
}

/// Flows with steps, so that medians are weighted, and with targets outside the image.
TYPED_TEST_P(EstimatorSuite, SingleWarpsAreTheCpus) {
    for (const Shape shape :
         {Shape{1, 1}, Shape{1, 9}, Shape{9, 1}, Shape{4, 3}, Shape{16, 32}, Shape{17, 33}}) {
        const ImagePair pair(Scene(4), shape, Motion::shift(0.8, -0.4));
        std::mt19937 generator(3);
        std::uniform_real_distribution<double> uniform(-0.1, 0.1);
        const Flow start = flow_of(
            shape,
            [&](index_t, index_t x) {
                return uniform(generator) + (3 * x < shape.columns ? 0 : 1);
            },
            [&](index_t y, index_t) {
                return uniform(generator) - (2 * y < shape.rows ? 0 : 0.6);
            });
        for (const Setup& setup : all_setups()) {
            SCOPED_TRACE(name_of(setup));
            this->expect_the_cpus_warp(pair, start, setup.parameters(), 1e-4F);
        }
        for (const int window : {3, 21}) {
            SCOPED_TRACE(window);
            Parameters parameters = preset(Preset::fast, Method::lucas_kanade);
            parameters.window = window;
            parameters.median = 0;
            this->expect_the_cpus_warp(pair, start, parameters, 1e-4F);
        }
    }
}

TYPED_TEST_P(EstimatorSuite, IdenticalImagesHaveExactlyNoFlow) {
    const ImagePair pair(Scene(), {37, 50}, {});
    for (const Setup& setup : all_setups()) {
        for (const double scale : {0.5, 0.7}) {
            Parameters parameters = this->short_run(setup);
            parameters.scale = scale;
            const Flow flow = this->estimated_here(pair.image0, pair.image0, parameters);
            for (const float component : flow) ASSERT_EQ(component, 0.0F) << name_of(setup);
        }
    }
}

TYPED_TEST_P(EstimatorSuite, ConstantImagesHaveExactlyNoFlowOnOneLevel) {
    const auto constant = [](Shape shape, float level) {
        return image_of(shape, [=](index_t, index_t) { return level; });
    };
    for (const Setup& setup : all_setups()) {
        Parameters parameters = this->short_run(setup);
        parameters.levels = 1;
        for (const float component : this->estimated_here(constant({33, 50}, 37.3F),
                                                          constant({33, 50}, 201.7F), parameters)) {
            ASSERT_EQ(component, 0.0F) << name_of(setup);
        }
        for (const float component :
             this->estimated_here(constant({16, 17}, 255), constant({16, 17}, 0), parameters)) {
            ASSERT_EQ(component, 0.0F) << name_of(setup);
        }
    }
}

TYPED_TEST_P(EstimatorSuite, ImagesOfAnyShapeHaveAFlow) {
    for (const Shape shape : {Shape{1, 1}, Shape{1, 40}, Shape{40, 1}, Shape{3, 3}, Shape{2, 50},
                              Shape{16, 17}, Shape{32, 33}}) {
        const ImagePair pair(Scene(3), shape, Motion::shift(0.5, 0.25));
        for (const Setup& setup : all_setups()) {
            const Flow flow =
                this->estimated_here(pair.image0, pair.image1, this->short_run(setup));
            for (const float component : flow) {
                ASSERT_TRUE(std::isfinite(component)) << testing::PrintToString(shape);
            }
        }
    }
}

TYPED_TEST_P(EstimatorSuite, ASecondRunAllocatesNothingAndGivesTheSameBits) {
    const Shape shape{33, 50};
    const ImagePair pair(Scene(4), shape, Motion::shift(1.3, -0.7));
    const ImagePair other(Scene(5), shape, Motion::shift(-3, 2));
    for (const Setup& setup : all_setups()) {
        if (setup.which == Preset::thesis && setup.texture > 0) continue;
        SCOPED_TRACE(name_of(setup));
        Estimator<typename TypeParam::Executor> estimator(this->runner.executor(), shape,
                                                          this->short_run(setup));
        Flow flow = constant_flow(shape, nan, nan);
        this->runner.run(estimator, pair.image0, pair.image1, flow, false);
        // A run with another pair and a start must not influence the next run.
        Flow again = constant_flow(shape, 2, 1);
        EXPECT_EQ(this->runner.run(estimator, other.image0, other.image1, again, true), 0U);
        this->runner.change();
        EXPECT_EQ(this->runner.run(estimator, pair.image0, pair.image1, again, false), 0U);
        EXPECT_TRUE(same_bytes(again, flow));
    }
}

TYPED_TEST_P(EstimatorSuite, OtherParametersAreThoseOfANewEstimator) {
    using Executor = typename TypeParam::Executor;
    if constexpr (std::is_same_v<typename Executor::Space, core::Host>) {
        const Shape shape{45, 67};
        const ImagePair pair(Scene(4), shape, Motion::shift(1.3, -0.7));
        std::vector<Parameters> sequence{preset(Preset::fast, Method::horn_schunck)};
        const auto then = [&](const auto& change) {
            change(sequence.emplace_back(sequence.back()));
        };
        then([](Parameters& p) { p.alpha = 20; });
        then([](Parameters& p) { p.warps = 1; });
        then([](Parameters& p) { p.solver.iterations = 3; });
        then([](Parameters& p) { p.solver = {.solver = Solver::cg, .iterations = 9}; });
        then([](Parameters& p) { p.median = 0; });
        then([](Parameters& p) { p.interpolation = signal::Interpolation::bilinear; });
        then([](Parameters& p) { p.smooth_increment = true; });
        then([](Parameters& p) { p.boundary = Boundary::zero; });
        then([](Parameters& p) { p.blur = 1.5; });
        then([](Parameters& p) { p.texture = 0.9; });
        then([](Parameters& p) { p.texture = 0.5; });
        then([](Parameters& p) { p.blur = 0; });
        then([](Parameters& p) { p.levels = 1; });
        then([](Parameters& p) { p = preset(Preset::accurate, Method::horn_schunck); });
        then([](Parameters& p) { p.contrast = 5; });
        then([](Parameters& p) { p = preset(Preset::fast, Method::lucas_kanade); });
        then([](Parameters& p) { p.window = 5; });
        then([](Parameters& p) { p.regularisation = 3; });
        Estimator<Executor> estimator(this->runner.executor(), shape, sequence.front());
        for (std::size_t i = 0; i < sequence.size(); ++i) {
            Flow again = constant_flow(shape, nan, nan);
            estimator.set_parameters(sequence[i]);
            estimator.run_again(pair.image0, pair.image1, again, false, nullptr);
            const Flow expected = this->estimated_here(pair.image0, pair.image1, sequence[i]);
            EXPECT_TRUE(same_bytes(again, expected)) << "parameters " << i;
        }
        Parameters wrong = sequence.back();
        wrong.warps = 0;
        EXPECT_THROW(estimator.set_parameters(wrong), core::InvalidArgument);
        // Other images in other memory.
        const ImagePair other(Scene(5), shape, Motion::shift(-1, 2));
        Flow flow = constant_flow(shape, nan, nan);
        estimator.run_again(other.image0, other.image1, flow, false, nullptr);
        EXPECT_TRUE(
            same_bytes(flow, this->estimated_here(other.image0, other.image1, sequence.back())));
    }
}

TYPED_TEST_P(EstimatorSuite, ViewsMayHaveRowsThatLieApart) {
    const Shape shape{33, 50};
    const ImagePair pair(Scene(6), shape, Motion::shift(1.5, 0.5));
    for (const Setup& setup : all_setups()) {
        SCOPED_TRACE(name_of(setup));
        const Parameters parameters = this->short_run(setup);
        const Flow reference = this->estimated_here(pair.image0, pair.image1, parameters);
        FramedImage image0(pair.image0);
        FramedImage image1(pair.image1);
        FramedFlow flow(shape);
        Estimator<typename TypeParam::Executor> estimator(this->runner.executor(), shape,
                                                          parameters);
        this->runner.run(estimator, image0.view(), image1.view(), flow.view(), false);
        EXPECT_TRUE(flow.frame_is_untouched());
        EXPECT_TRUE(same_bytes(flow.inner(), reference));
    }
}

TYPED_TEST_P(EstimatorSuite, ARunBeginsWithItsStart) {
    const Shape shape{64, 80};
    const ImagePair pair(Scene(7), shape, Motion::shift(-6, 0));
    for (const Method method : {Method::horn_schunck, Method::lucas_kanade}) {
        for (const auto& [levels, increment] : {std::pair{1, false}, {1, true}, {2, false}}) {
            Parameters parameters = preset(Preset::fast, method);
            parameters.levels = levels;
            parameters.warps = 1;
            parameters.smooth_increment = increment;
            parameters.solver.iterations = 10;
            Estimator<typename TypeParam::Executor> estimator(this->runner.executor(), shape,
                                                              parameters);
            Flow flow = constant_flow(shape, -6, 0);
            this->runner.run(estimator, pair.image0, pair.image1, flow, true);
            EXPECT_LT(median_of(distances(flow, pair.truth, 10)), 0.01);
            // Without a start the contents of the flow are ignored.
            this->runner.run(estimator, pair.image0, pair.image1, flow, false);
            EXPECT_GT(median_of(distances(flow, pair.truth, 10)), levels == 1 ? 4.9 : 2.9);
        }
    }
}

TYPED_TEST_P(EstimatorSuite, WarpedImagesAreTheCpus) {
    using signal::Interpolation;
    for (const Shape shape : this->runner.warp_shapes()) {
        SCOPED_TRACE(testing::PrintToString(shape));
        Image image = signal::random_image({shape.rows, shape.columns}, 1);
        for (float& pixel : image) pixel = 127.5F * (pixel + 1);
        std::mt19937 generator(2);
        std::uniform_real_distribution<float> uniform(-4, 4);
        int count = 0;
        const auto next = [&](index_t, index_t) {
            constexpr std::array<float, 5> extremes{1e6F, -3e38F, nan, infinity, -infinity};
            ++count;
            return count % 17 == 0 ? extremes[static_cast<std::size_t>(count / 17 % 5)]
                                   : uniform(generator);
        };
        const Flow flow = flow_of(shape, next, next);
        for (const Interpolation kind : {Interpolation::bilinear, Interpolation::bicubic}) {
            Image expected(image.extent());
            core::Cpu cpu;
            warp(cpu, image, flow, kind, expected);
            FramedImage from(image);
            FramedFlow moved(flow);
            FramedImage to({shape.rows, shape.columns});
            this->runner.warp(from.view(), moved.view(), kind, to.view());
            EXPECT_TRUE(to.frame_is_untouched());
            // Both sides compute a cubic's weights within 8 roundings, as in warp_test.cpp.
            expect_near(to.inner(), Plane(expected), 400 * unit_roundoff * 255);
        }
    }
}

TYPED_TEST_P(EstimatorSuite, WhatDoesNotFitIsRefused) {
    using testing::HasSubstr;
    using testing::ThrowsMessage;
    using Executor = typename TypeParam::Executor;
    const Shape shape{20, 30};
    Estimator<Executor> estimator(this->runner.executor(), shape, preset(Preset::fast, {}));
    const Image image = image_of(shape, [](index_t, index_t) { return 1; });
    const Image other = image_of({20, 31}, [](index_t, index_t) { return 1; });
    Flow flow = constant_flow(shape, 0, 0);
    Flow tall = constant_flow({21, 30}, 0, 0);
    const auto refused = [](const char* words, const auto& call) {
        EXPECT_THAT(call, ThrowsMessage<core::InvalidArgument>(HasSubstr(words)));
    };
    refused("image 0 is 20 x 31, must be 20 x 30",
            [&] { this->runner.run(estimator, other, image, flow, false); });
    refused("image 1 is 20 x 31, must be 20 x 30",
            [&] { this->runner.run(estimator, image, other, flow, false); });
    refused("flow is 2 x 21 x 30, must be 2 x 20 x 30",
            [&] { this->runner.run(estimator, image, image, tall, false); });
    const core::View<const float, 2, core::Host> upright(image.data(), {20, 30}, {1, 20});
    refused("image 0: stride 20",
            [&] { this->runner.run(estimator, upright, image, flow, false); });
    EXPECT_NO_THROW(this->runner.run(estimator, image, image, flow, false));
    refused("5 x 0", [&] { Estimator<Executor>(this->runner.executor(), {5, 0}, {}); });
    refused("0 x 5", [&] { Estimator<Executor>(this->runner.executor(), {0, 5}, {}); });
    Parameters relaxed;
    relaxed.solver.relaxation = 2;
    refused("relaxation is 2",
            [&] { Estimator<Executor>(this->runner.executor(), shape, relaxed); });
    Parameters wide = preset(Preset::fast, Method::lucas_kanade);
    wide.window = 1001;
    if (!std::is_same_v<Executor, core::Cpu>) {
        refused("1001 is too large",
                [&] { Estimator<Executor>(this->runner.executor(), shape, wide); });
    }
    Parameters wrong;
    wrong.warps = 0;
    refused("warps is 0", [&] { Estimator<Executor>(this->runner.executor(), shape, wrong); });
}

REGISTER_TYPED_TEST_SUITE_P(EstimatorSuite, FlowsAreTheCpus, FlowsOfOtherParametersAreTheCpus,
                            SingleWarpsAreTheCpus, IdenticalImagesHaveExactlyNoFlow,
                            ConstantImagesHaveExactlyNoFlowOnOneLevel, ImagesOfAnyShapeHaveAFlow,
                            ASecondRunAllocatesNothingAndGivesTheSameBits,
                            OtherParametersAreThoseOfANewEstimator, ViewsMayHaveRowsThatLieApart,
                            ARunBeginsWithItsStart, WarpedImagesAreTheCpus,
                            WhatDoesNotFitIsRefused);

}  // namespace aperture::flow
