// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "aperture/core/error.hpp"
#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The message of the exception, or a text that says that none was thrown.
std::string refusal(const Parameters& parameters) {
    try {
        validate(parameters);
    } catch (const core::InvalidArgument& error) {
        return error.what();
    }
    return "nothing was refused";
}

struct Wrong {
    std::string name;
    std::function<void(Parameters&)> spoil;
    std::string words;  ///< part of the message: the parameter and its value
};
void PrintTo(const Wrong& wrong, std::ostream* stream) { *stream << wrong.name; }

/// A case that sets one member to a wrong value.
template <class Value>
Wrong wrong(const char* name, Value Parameters::*member, Value value, const char* words) {
    return {name, [=](Parameters& p) { p.*member = value; }, words};
}
template <class Value>
Wrong wrong(const char* name, Value SolverParameters::*member, Value value, const char* words) {
    return {name, [=](Parameters& p) { p.solver.*member = value; }, words};
}

std::vector<Wrong> all_wrong() {
    constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinite = std::numeric_limits<double>::infinity();
    return {
        wrong("AlphaZero", &Parameters::alpha, 0.0, "alpha is 0"),
        wrong("AlphaNegative", &Parameters::alpha, -4.5, "alpha is -4.5"),
        wrong("AlphaNan", &Parameters::alpha, not_a_number, "alpha is nan"),
        wrong("AlphaInfinite", &Parameters::alpha, infinite, "alpha is inf"),
        wrong("WindowOne", &Parameters::window, 1, "window is 1"),
        wrong("WindowEven", &Parameters::window, 8, "window is 8"),
        wrong("WindowNegative", &Parameters::window, -9, "window is -9"),
        wrong("RegularisationNegative", &Parameters::regularisation, -0.25,
              "regularisation is -0.25"),
        wrong("RegularisationNan", &Parameters::regularisation, not_a_number,
              "regularisation is nan"),
        wrong("RegularisationInfinite", &Parameters::regularisation, infinite,
              "regularisation is inf"),
        wrong("LevelsNegative", &Parameters::levels, -1, "levels is -1"),
        wrong("ScaleSmall", &Parameters::scale, 0.29, "scale is 0.29"),
        wrong("ScaleLarge", &Parameters::scale, 0.96, "scale is 0.96"),
        wrong("ScaleNan", &Parameters::scale, not_a_number, "scale is nan"),
        wrong("WarpsZero", &Parameters::warps, 0, "warps is 0"),
        wrong("WarpsNegative", &Parameters::warps, -3, "warps is -3"),
        wrong("MedianOne", &Parameters::median, 1, "median is 1"),
        wrong("MedianEven", &Parameters::median, 4, "median is 4"),
        wrong("MedianNine", &Parameters::median, 9, "median is 9"),
        wrong("MedianNegative", &Parameters::median, -5, "median is -5"),
        wrong("LargestUpdateNegative", &Parameters::largest_update, -1.5, "update is -1.5"),
        wrong("LargestUpdateNan", &Parameters::largest_update, not_a_number, "update is nan"),
        wrong("BlurNegative", &Parameters::blur, -0.5, "blur is -0.5"),
        wrong("BlurHuge", &Parameters::blur, 1001.0, "blur is 1001"),
        wrong("BlurNan", &Parameters::blur, not_a_number, "blur is nan"),
        wrong("BrightnessNegative", &Parameters::brightness, -0.25, "brightness is -0.25"),
        wrong("BrightnessInfinite", &Parameters::brightness, infinite, "brightness is inf"),
        wrong("ReweightingsZero", &Parameters::reweightings, 0, "reweightings is 0"),
        wrong("ContrastNegative", &Parameters::contrast, -20.0, "contrast is -20"),
        wrong("ContrastNan", &Parameters::contrast, not_a_number, "contrast is nan"),
        wrong("TextureNegative", &Parameters::texture, -0.5, "texture is -0.5"),
        wrong("TextureAboveOne", &Parameters::texture, 1.25, "texture is 1.25"),
        wrong("TextureNan", &Parameters::texture, not_a_number, "texture is nan"),
        wrong("IterationsNegative", &SolverParameters::iterations, -2, "iterations is -2"),
        wrong("ToleranceNegative", &SolverParameters::tolerance, -0.5, "tolerance is -0.5"),
        wrong("ToleranceNan", &SolverParameters::tolerance, not_a_number, "tolerance is nan"),
        wrong("RelaxationZero", &SolverParameters::relaxation, 0.0, "relaxation is 0"),
        wrong("RelaxationTwo", &SolverParameters::relaxation, 2.0, "relaxation is 2"),
        wrong("StepsZero", &SolverParameters::s_step, 0, "s-step is 0"),
        wrong("StepsSeventeen", &SolverParameters::s_step, 17, "s-step is 17"),
        wrong("RelaxationNan", &SolverParameters::relaxation, not_a_number, "relaxation is nan"),
    };
}

class WrongParameter : public testing::TestWithParam<Wrong> {};

INSTANTIATE_TEST_SUITE_P(All, WrongParameter, testing::ValuesIn(all_wrong()),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(WrongParameter, IsRefusedWithItsValue) {
    for (const Method method : {Method::horn_schunck, Method::lucas_kanade}) {
        Parameters parameters = preset(Preset::fast, method);
        ASSERT_EQ(refusal(parameters), "nothing was refused");
        GetParam().spoil(parameters);
        EXPECT_THAT(refusal(parameters), HasSubstr(GetParam().words));
    }
}

TEST(Parameters, OfARobustEstimateAreRefusedWhereItCannotBe) {
    const auto refused = [](const auto& change) {
        Parameters parameters = preset(Preset::accurate, Method::horn_schunck);
        change(parameters);
        return refusal(parameters);
    };
    EXPECT_EQ(refused([](Parameters&) {}), "nothing was refused");
    const auto words = HasSubstr("a robust estimate requires");
    EXPECT_THAT(refused([](Parameters& p) { p.method = Method::lucas_kanade; }), words);
    EXPECT_THAT(refused([](Parameters& p) { p.smooth_increment = true; }), words);
    EXPECT_THAT(refused([](Parameters& p) { p.boundary = Boundary::zero; }), words);
    EXPECT_THAT(refused([](Parameters& p) { p.stencil = Stencil::nine; }), words);
}

TEST(Parameters, AreAcceptedAtTheEndsOfTheirRanges) {
    const auto accepted = [](const auto& change) {
        Parameters parameters;
        change(parameters);
        return refusal(parameters) == "nothing was refused";
    };
    EXPECT_TRUE(accepted([](Parameters& p) { p.alpha = 1e-3; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.window = 3; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.regularisation = 0; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.levels = 0; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.scale = 0.3; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.scale = 0.95; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.warps = 1; }));
    for (int window : {0, 3, 5, 7}) {
        EXPECT_TRUE(accepted([=](Parameters& p) { p.median = window; })) << window;
    }
    EXPECT_TRUE(accepted([](Parameters& p) { p.largest_update = 0; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.blur = 0; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.brightness = 0; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.reweightings = 1; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.contrast = 0; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.texture = 0; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.texture = 1; }));
    EXPECT_TRUE(accepted([](Parameters& p) { p.solver.tolerance = 0; }));
}

TEST(Presets, FastIsWhatParametersBeginWith) {
    EXPECT_EQ(Parameters{}, preset(Preset::fast, Method::horn_schunck));
}

TEST(Presets, AreWhatTheirNamesSay) {
    for (const Method method : {Method::horn_schunck, Method::lucas_kanade}) {
        for (const Preset which : {Preset::thesis, Preset::fast, Preset::accurate}) {
            const Parameters parameters = preset(which, method);
            EXPECT_NO_THROW(validate(parameters));
            EXPECT_EQ(parameters.method, method);
        }
        const Parameters thesis = preset(Preset::thesis, method);
        EXPECT_EQ(thesis.levels, 4);
        EXPECT_EQ(thesis.solver.iterations, 400);
        EXPECT_TRUE(thesis.smooth_increment);
        const Parameters accurate = preset(Preset::accurate, method);
        EXPECT_EQ(accurate.robust, method == Method::horn_schunck);
        EXPECT_TRUE(accurate.weighted_median);
    }
}

TEST(Presets, WithAnotherSolverHaveIterationsThatSuitIt) {
    const auto solver = [](Preset which, std::optional<Solver> chosen) {
        return preset(which, Method::horn_schunck, chosen).solver;
    };
    for (const Preset which : {Preset::thesis, Preset::fast, Preset::accurate}) {
        const SolverParameters own = preset(which, Method::horn_schunck).solver;
        EXPECT_EQ(solver(which, own.solver), own);
        const SolverParameters multigrid{.solver = Solver::multigrid, .iterations = 1};
        EXPECT_EQ(solver(which, Solver::multigrid), multigrid);
    }
    const SolverParameters hundred{.solver = Solver::jacobi, .iterations = 100};
    EXPECT_EQ(solver(Preset::fast, Solver::jacobi), hundred);
    const SolverParameters more{.solver = Solver::cg, .iterations = 400};
    EXPECT_EQ(solver(Preset::thesis, Solver::cg), more);
    // Nothing else changes.
    Parameters p = preset(Preset::accurate, Method::horn_schunck, Solver::cg);
    p.solver = preset(Preset::accurate, Method::horn_schunck).solver;
    EXPECT_EQ(p, preset(Preset::accurate, Method::horn_schunck));
}

Parameters pyramid(int levels, double scale) {
    Parameters parameters;
    parameters.levels = levels;
    parameters.scale = scale;
    return parameters;
}

TEST(PyramidShapes, HalveDownToSomeSixteenPixels) {
    EXPECT_THAT(pyramid_shapes({480, 640}, pyramid(0, 0.5)),
                ElementsAre(Shape{480, 640}, Shape{240, 320}, Shape{120, 160}, Shape{60, 80},
                            Shape{30, 40}));
    EXPECT_THAT(pyramid_shapes({64, 1000}, pyramid(0, 0.5)),
                ElementsAre(Shape{64, 1000}, Shape{32, 500}, Shape{16, 250}));
    EXPECT_THAT(pyramid_shapes({1000, 61}, pyramid(0, 0.5)),
                ElementsAre(Shape{1000, 61}, Shape{500, 31}));
}

TEST(PyramidShapes, ShrinkByTheScaleOfTheImageItself) {
    // 0.7^2 = 0.49, 0.7^3 = 0.343: 101 * 0.49 = 49.49, not 0.7 * 71 = 49.7.
    EXPECT_THAT(pyramid_shapes({101, 200}, pyramid(4, 0.7)),
                ElementsAre(Shape{101, 200}, Shape{71, 140}, Shape{49, 98}, Shape{35, 69}));
}

TEST(PyramidShapes, KeepToTheSmallestExtentAtAnyScale) {
    for (const double scale : {0.3, 0.5, 0.7, 0.95}) {
        for (const Shape shape : {Shape{388, 584}, Shape{101, 67}, Shape{16, 16}, Shape{33, 500}}) {
            const auto shapes = pyramid_shapes(shape, pyramid(0, scale));
            ASSERT_EQ(shapes.front(), shape);
            for (std::size_t l = 0; l < shapes.size(); ++l) {
                const double factor = std::pow(scale, static_cast<double>(l));
                EXPECT_GE(std::min(shapes[l].rows, shapes[l].columns), 16);
                EXPECT_NEAR(static_cast<double>(shapes[l].rows),
                            factor * static_cast<double>(shape.rows), 0.5);
                EXPECT_NEAR(static_cast<double>(shapes[l].columns),
                            factor * static_cast<double>(shape.columns), 0.5);
            }
            // One more level would be too small.
            const auto smallest = static_cast<double>(std::min(shape.rows, shape.columns));
            EXPECT_LT(smallest * std::pow(scale, static_cast<double>(shapes.size())), 16)
                << scale << " of " << shape.rows << " x " << shape.columns;
        }
    }
}

TEST(PyramidShapes, AreAsManyAsAskedFor) {
    for (int levels = 1; levels <= 5; ++levels) {
        EXPECT_EQ(pyramid_shapes({480, 640}, pyramid(levels, 0.5)).size(),
                  static_cast<std::size_t>(levels));
    }
    EXPECT_EQ(pyramid_shapes({480, 640}, pyramid(1000, 0.5)).size(), 5U);
}

TEST(PyramidShapes, OfALineAreOne) {
    for (const int levels : {0, 1, 4}) {
        for (const Shape shape : {Shape{1, 1000}, Shape{1000, 1}, Shape{1, 1}, Shape{3, 3},
                                  Shape{2, 50}, Shape{15, 200}}) {
            EXPECT_THAT(pyramid_shapes(shape, pyramid(levels, 0.5)), ElementsAre(shape));
        }
    }
}

}  // namespace
}  // namespace aperture::flow
