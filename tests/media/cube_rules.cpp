// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// How the cube's dataset, its axes and its attributes are found in a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "aperture/core/error.hpp"
#include "aperture/media/cube_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

Handle root_of(hid_t file) { return {H5Oopen(file, "/", H5P_DEFAULT), H5Oclose}; }
Handle cube_of(hid_t file) { return {H5Oopen(file, "/cube", H5P_DEFAULT), H5Oclose}; }

class CubeRules : public testing::Test {
  protected:
    CubeRules() { write_cube(path_, {}); }
    RadarCube info(CubeRequest request = {}) const {
        request.path = path_;
        return CubeReader(request).info();
    }
    std::string error(const CubeRequest& request = {}) const {
        return error_of([&] { info(request); });
    }
    void on_cube(const std::string& name, const std::string& value) {
        const Handle file = open_to_add(path_);
        add_string(cube_of(file), name, value);
    }
    void on_root(const std::string& name, const std::string& value) {
        const Handle file = open_to_add(path_);
        add_string(root_of(file), name, value);
    }
    void labels(const std::vector<std::string>& words) {
        const Handle file = open_to_add(path_);
        add_strings(cube_of(file), "DIMENSION_LABELS", words);
    }

    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_ / "cube.h5";
};

TEST_F(CubeRules, TheDefaultIsCanonical) {
    const RadarCube cube = info();
    EXPECT_EQ(cube.dataset, "/cube");
    EXPECT_EQ(cube.axes, "channel,pulse,range");
    EXPECT_EQ(cube.axis_rule, AxisRule::canonical);
    EXPECT_EQ(cube.domain, Domain::pulse);
    EXPECT_EQ(cube.shape(), (core::Extents<3>{3, 5, 7}));
}

TEST_F(CubeRules, EachRuleYieldsToTheOneBeforeIt) {
    on_cube("MATLAB_class", "single");
    EXPECT_EQ(info().axis_rule, AxisRule::matlab);
    EXPECT_EQ(info().shape(), (core::Extents<3>{5, 3, 7}));
    on_root("axes", "range,channel,pulse");
    EXPECT_EQ(info().axis_rule, AxisRule::axes_attribute);
    EXPECT_EQ(info().shape(), (core::Extents<3>{5, 7, 3}));
    on_cube("axes", "range, pulse, channel");
    EXPECT_EQ(info().axes, "range,pulse,channel");
    EXPECT_EQ(info().shape(), (core::Extents<3>{7, 5, 3}));
    labels({"pulse", "range", "channel"});
    EXPECT_EQ(info().axis_rule, AxisRule::dimension_labels);
    EXPECT_EQ(info().shape(), (core::Extents<3>{7, 3, 5}));
    const RadarCube asked = info({.path = {}, .axes = "channel,range,pulse"});
    EXPECT_EQ(asked.axis_rule, AxisRule::caller);
    EXPECT_EQ(asked.shape(), (core::Extents<3>{3, 7, 5}));
}

TEST_F(CubeRules, EmptyLabelsAreAbsent) {
    labels({"", "", ""});
    EXPECT_EQ(info().axis_rule, AxisRule::canonical);
}

TEST_F(CubeRules, TheAttributeMayBeAListOfStrings) {
    {
        const Handle file = open_to_add(path_);
        add_strings(root_of(file), "axes", {"pulse", "channel", "range"});
    }
    EXPECT_EQ(info().axes, "pulse,channel,range");
}

TEST_F(CubeRules, ARealArraysFourthLabelIsNoAxis) {
    write_cube(path_, {.members = {}});
    labels({"range", "pulse", "channel", "complex"});
    EXPECT_EQ(info().axes, "range,pulse,channel");
}

TEST_F(CubeRules, BadAxesAreErrorsEverywhere) {
    EXPECT_THAT(error({.path = {}, .axes = "channel,pulse"}), HasSubstr("must name three axes"));
    EXPECT_THAT(error({.path = {}, .axes = ""}), HasSubstr("must name three axes"));
    EXPECT_THAT(error({.path = {}, .axes = "channel,pulse,pulse"}), HasSubstr("each axis once"));
    EXPECT_THAT(error({.path = {}, .axes = "channel,pulse,doppler"}), HasSubstr("each axis once"));
    EXPECT_THAT(error({.path = {}, .axes = "channel,azimuth,range"}), HasSubstr("'azimuth'"));
    on_cube("axes", "x,y,z");
    EXPECT_THAT(error(), HasSubstr("axes attribute 'x,y,z'"));
    labels({"channel", "", "range"});
    EXPECT_THAT(error(), HasSubstr("dimension labels 'channel,,range'"));
}

TEST_F(CubeRules, DomainComesFromAttributeAxisNameOrCaller) {
    EXPECT_EQ(info({.path = {}, .axes = "channel,doppler,range"}).domain, Domain::doppler);
    EXPECT_EQ(info({.path = {}, .domain = Domain::doppler}).domain, Domain::doppler);
    on_root("domain", "doppler");
    EXPECT_EQ(info().domain, Domain::doppler);
    EXPECT_EQ(info().axes, "channel,doppler,range");
    EXPECT_EQ(info({.path = {}, .domain = Domain::pulse}).domain, Domain::pulse);
    on_cube("domain", "pulse");
    EXPECT_EQ(info().domain, Domain::pulse);
    EXPECT_EQ(info({.path = {}, .axes = "channel,doppler,range"}).domain, Domain::doppler);
    on_cube("axes", "channel,doppler,range");
    EXPECT_THAT(error(), HasSubstr("named doppler, but the domain is pulse"));
    EXPECT_EQ(info({.path = {}, .domain = Domain::doppler}).domain, Domain::doppler);
}

TEST_F(CubeRules, AnUnknownDomainIsAnError) {
    on_cube("domain", "frequency");
    EXPECT_THAT(error(), HasSubstr("domain attribute is 'frequency'"));
}

TEST_F(CubeRules, AttributesOfTheCubeHideThoseOfTheFile) {
    {
        const Handle file = open_to_add(path_);
        add_number(root_of(file), "doppler_bins", 64);
        add_number(root_of(file), "training_block", 32);
        add_number(root_of(file), "prf_hz", 625.5);
        add_number(cube_of(file), "doppler_bins", 128);
        add_number(cube_of(file), "element_spacing_wavelengths", 0.48);
        add_string(cube_of(file), "source", "words");
    }
    const RadarCube cube = info();
    EXPECT_EQ(cube.doppler_bins, 128);
    EXPECT_EQ(cube.training_block, 32);
    EXPECT_EQ(cube.prf_hz, 625.5);
    EXPECT_EQ(cube.element_spacing_wavelengths, 0.48);
}

TEST_F(CubeRules, AbsurdAttributesAreErrors) {
    struct Absurd {
        std::string name;
        double value;
        std::string expected;
    };
    const std::vector<Absurd> absurd = {{"doppler_bins", 0.5, "a positive whole number"},
                                        {"doppler_bins", -4, "a positive whole number"},
                                        {"training_block", 0, "a positive whole number"},
                                        {"training_block", 1e300, "a positive whole number"},
                                        {"prf_hz", -1, "a positive number"}};
    for (const auto& [name, value, expected] : absurd) {
        write_cube(path_, {});
        {
            const Handle file = open_to_add(path_);
            add_number(root_of(file), name, value);
        }
        EXPECT_THAT(error(),
                    AllOf(HasSubstr("attribute " + name), EndsWith("expected " + expected)));
    }
}

TEST_F(CubeRules, TheOnlyCubeIsFoundWhereverItIs) {
    {
        const Handle file = new_file(path_);
        add_cube(file, {.number = "int16", .path = "/scan/raw/samples"});
        add_dataset(file, "/time", H5T_IEEE_F64LE, {5});
    }
    EXPECT_EQ(info().dataset, "/scan/raw/samples");
    EXPECT_EQ(info({.path = {}, .dataset = "scan/raw/samples"}).dataset, "/scan/raw/samples");
}

TEST_F(CubeRules, SeveralCubesAreListedAndMustBeChosen) {
    {
        const Handle file = new_file(path_);
        add_cube(file, {.number = "int16", .path = "/first"});
        add_cube(file, {.members = {}, .path = "/group/second"});
    }
    EXPECT_EQ(error(), path_.string() +
                           ": several 3-D or 4-D complex datasets, select one with --dataset: "
                           "/first int16 {r,i} [3,5,7]; /group/second float32 [3,5,7,2]");
    EXPECT_EQ(info({.path = {}, .dataset = "/first"}).element, "int16 {r,i}");
}

TEST_F(CubeRules, WithoutACubeTheDatasetsAreListed) {
    {
        const Handle file = new_file(path_);
        add_dataset(file, "/time", H5T_IEEE_F64LE, {5});
        add_dataset(file, "/real", H5T_STD_I16BE, {2, 3, 4});
    }
    EXPECT_EQ(error(), path_.string() +
                           ": no 3-D or 4-D complex dataset among /real int16 big-endian [2,3,4]; "
                           "/time float64 [5]");
    new_file(folder_ / "empty.h5").close();
    EXPECT_THAT(error_of([&] { CubeReader({folder_ / "empty.h5"}); }),
                HasSubstr("contains no dataset"));
}

TEST_F(CubeRules, SteeringVectorsComeInAnyComplexForm) {
    EXPECT_FALSE(info().steering.has_value());
    EXPECT_FALSE(CubeReader({path_}).steering().has_value());
    const std::array<double, 12> vectors = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    {
        const Handle file = open_to_add(path_);
        add_dataset(file, "/steering", H5T_NATIVE_DOUBLE, {2, 3, 2}, vectors.data());
    }
    EXPECT_EQ(info().steering, (core::Extents<2>{2, 3}));
    const auto steering = CubeReader({path_}).steering();
    ASSERT_TRUE(steering.has_value());
    for (index_t v = 0; v < 2; ++v) {
        for (index_t n = 0; n < 3; ++n) {
            const auto first = static_cast<float>(6 * v + 2 * n + 1);
            EXPECT_EQ((*steering)(v, n), std::complex<float>(first, first + 1));
        }
    }
}

TEST_F(CubeRules, BadSteeringIsAnErrorAtOnce) {
    {
        const Handle file = open_to_add(path_);
        add_dataset(file, "/steering", H5T_NATIVE_DOUBLE, {4, 3});
    }
    EXPECT_THAT(error(), HasSubstr("dataset /steering is real"));
}

}  // namespace
}  // namespace aperture::media::tests
