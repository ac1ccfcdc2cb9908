// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Measured radar data whose truth is documented; skipped where the files are absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/conventional.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/shared_data.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::TemporaryFolder;
using testing::HasSubstr;

constexpr auto absent = "measured radar data is not here (APERTURE_DATA names its folder)";

double median(std::vector<float> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct TapsAndBins {
    std::string taps;
    std::string bins;
    int target_bin;
};
void PrintTo(const TapsAndBins& c, std::ostream* stream) { *stream << c.taps << ", " << c.bins; }

class MountainTop : public testing::TestWithParam<TapsAndBins> {};

INSTANTIATE_TEST_SUITE_P(TapsAndBins, MountainTop,
                         testing::Values(TapsAndBins{"1", "16", 4}, TapsAndBins{"3", "16", 4},
                                         TapsAndBins{"5", "16", 4}, TapsAndBins{"1", "32", 8},
                                         TapsAndBins{"3", "32", 8}, TapsAndBins{"5", "32", 8}));

// The radar's own test generator put a target at +14 degrees, range cell 147 and +PRF/4, behind
// terrain clutter of the same Doppler.
TEST_P(MountainTop, InjectedTargetIsTheStrongestCellOfTheMap) {
    const auto cube = aperture::tests::shared_data("radar/mountaintop_t38.h5");
    if (!cube) GTEST_SKIP() << absent;
    const TemporaryFolder folder;
    const Outcome outcome = run_program("stap", {"--cube",         *cube,
                                                 "--out",          folder / "out.h5",
                                                 "--device",       "cpu",
                                                 "--azimuth",      "14",
                                                 "--detector",     "amf",
                                                 "--training",     "all",
                                                 "--guard",        "6",
                                                 "--loading",      "rel:1e-3",
                                                 "--tdof",         GetParam().taps,
                                                 "--doppler-bins", GetParam().bins});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const auto statistic = read_dataset<float>(folder / "out.h5", "/statistic");
    const std::size_t cells = statistic.extent[2];
    ASSERT_EQ(cells, 304U);
    const auto strongest = static_cast<std::size_t>(
        std::max_element(statistic.values.begin(), statistic.values.end()) -
        statistic.values.begin());
    EXPECT_EQ(strongest % cells, 147U);
    EXPECT_EQ(strongest / cells, static_cast<std::size_t>(GetParam().target_bin));
    const auto bin =
        statistic.values.begin() + static_cast<std::ptrdiff_t>(strongest / cells * cells);
    const double over_median =
        10 * std::log10(statistic.values[strongest] /
                        median({bin, bin + static_cast<std::ptrdiff_t>(cells)}));
    EXPECT_NEAR(over_median, 29, 4);

    EXPECT_EQ(read_column(folder / "out.h5", "/detections", "range_cell").at(0), 147);
    EXPECT_EQ(read_column(folder / "out.h5", "/detections", "doppler_hz").at(0), 156.25);
    EXPECT_EQ(read_column(folder / "out.h5", "/detections", "azimuth_degrees").at(0), 14);
}

// Why adaptation is needed: the beam at +14 degrees alone leaves the target among the clutter.
TEST(MountainTopUnadapted, TargetIsFarFromTheStrongestOfItsBin) {
    const auto path = aperture::tests::shared_data("radar/mountaintop_t38.h5");
    if (!path) GTEST_SKIP() << absent;
    media::CubeReader reader({.path = *path});
    core::Array<stap::cfloat, 3> cube(reader.info().shape());
    reader.read(cube);
    stap::Parameters parameters;
    parameters.temporal_taps = 1;
    const auto problem = stap::make_problem({14, 16, 304, stap::Domain::pulse}, parameters, 1);
    const auto steering =
        stap::steering_vectors(14, *reader.info().element_spacing_wavelengths, {14}, {1});
    core::Array<stap::cfloat, 2> map({16, 304});
    core::Cpu cpu;
    stap::conventional_map(cpu, problem, cube, {steering.data(), {14}}, map);
    constexpr core::index_t target_bin = 4;
    const auto stronger = std::count_if(
        map.data() + target_bin * 304, map.data() + (target_bin + 1) * 304,
        [&](const auto& cell) { return std::abs(cell) > std::abs(map(target_bin, 147)); });
    EXPECT_EQ(stronger + 1, 58);
}

class MeasuredCube : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Files, MeasuredCube,
                         testing::Values("mountaintop_t38", "mountaintop_t38_i16",
                                         "openradar_walkers", "openradar_walkers_i16"),
                         [](const auto& instance) { return instance.param; });

TEST_P(MeasuredCube, RunsByDefault) {
    const auto cube = aperture::tests::shared_data("radar/" + GetParam() + ".h5");
    if (!cube) GTEST_SKIP() << absent;
    const TemporaryFolder folder;
    const Outcome outcome =
        run_program("stap", {"--cube", *cube, "--out", folder / "out.h5", "--device", "cpu"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, HasSubstr("axes attribute"));
    const auto output = read_dataset<std::complex<float>>(folder / "out.h5", "/output");
    EXPECT_TRUE(std::all_of(output.values.begin(), output.values.end(), [](const auto& y) {
        return std::isfinite(y.real()) && std::isfinite(y.imag());
    }));
}

}  // namespace
}  // namespace aperture::apps::tests
