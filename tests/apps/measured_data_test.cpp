// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Measured radar data with documented truth; skipped if the files are absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/conventional.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/median.hpp"
#include "tests/shared_data.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using aperture::tests::median;
using aperture::tests::TemporaryFolder;
using testing::HasSubstr;

constexpr auto absent = "measured radar data is not here (APERTURE_DATA names its folder)";

struct MountainTopCase {
    int taps;
    int bins;
    double over_median_db;

    int target_bin() const { return bins / 4; }
};
void PrintTo(const MountainTopCase& c, std::ostream* stream) {
    *stream << "T = " << c.taps << ", K = " << c.bins;
}

class MountainTop : public testing::TestWithParam<MountainTopCase> {};

// Reference values come from a separate NumPy computation in double precision, which sums a new
// covariance for every cell. They fall with the order n = 14 T because each covariance is estimated
// from 291 cells: by Reed, Mallett & Brennan the target loses 10 log10((293 - n) / 292) = 0.2, 0.7
// and 1.2 dB, and the median of the cells without a target rises by as much.
INSTANTIATE_TEST_SUITE_P(
    TapsAndBins, MountainTop,
    testing::Values(MountainTopCase{1, 16, 31.493}, MountainTopCase{3, 16, 28.954},
                    MountainTopCase{5, 16, 27.550}, MountainTopCase{1, 32, 31.493},
                    MountainTopCase{3, 32, 29.747}, MountainTopCase{5, 32, 29.123}));

// The radar's test generator injected a target at +14 degrees, range cell 147 and +PRF/4, behind
// terrain clutter of the same Doppler.
TEST_P(MountainTop, InjectedTargetIsTheStrongestCellOfTheMap) {
    const auto cube = aperture::tests::shared_data("radar/mountaintop_t38.h5");
    if (!cube) GTEST_SKIP() << absent;
    const TemporaryFolder folder;
    const Outcome outcome = run_program(
        "stap", joined(words_of("--device cpu --azimuth 14 --detector amf --training all --guard 6 "
                                "--loading rel:1e-3"),
                       {"--cube", *cube, "--out", folder / "out.h5", "--tdof",
                        std::to_string(GetParam().taps), "--doppler-bins",
                        std::to_string(GetParam().bins)}));
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const auto statistic = read_dataset<float>(folder / "out.h5", "/statistic");
    const std::size_t cells = statistic.extent[2];
    ASSERT_EQ(cells, 304U);
    const auto strongest = static_cast<std::size_t>(
        std::max_element(statistic.values.begin(), statistic.values.end()) -
        statistic.values.begin());
    EXPECT_EQ(strongest % cells, 147U);
    EXPECT_EQ(strongest / cells, static_cast<std::size_t>(GetParam().target_bin()));
    const auto bin =
        statistic.values.begin() + static_cast<std::ptrdiff_t>(strongest / cells * cells);
    const double over_median =
        10 * std::log10(statistic.values[strongest] /
                        median({bin, bin + static_cast<std::ptrdiff_t>(cells)}));
    // Only the fp32 Doppler filter rounds differently.
    EXPECT_NEAR(over_median, GetParam().over_median_db, 0.01);

    EXPECT_EQ(read_column(folder / "out.h5", "/detections", "range_cell").at(0), 147);
    EXPECT_EQ(read_column(folder / "out.h5", "/detections", "doppler_hz").at(0), 156.25);
    EXPECT_EQ(read_column(folder / "out.h5", "/detections", "azimuth_degrees").at(0), 14);
    EXPECT_NEAR(read_column(folder / "out.h5", "/targets", "range_cell").at(0), 147, 0.6);
    EXPECT_NEAR(read_column(folder / "out.h5", "/targets", "doppler_hz").at(0), 156.25, 4);
}

// Why adaptation is needed: the beam at +14 degrees alone does not separate target and clutter, for
// any number of taps, and of bins that has one at +PRF/4.
TEST_P(MountainTop, UnadaptedTargetIsFarFromTheStrongestOfItsBin) {
    const auto path = aperture::tests::shared_data("radar/mountaintop_t38.h5");
    if (!path) GTEST_SKIP() << absent;
    const auto [taps, bins, over_median_db] = GetParam();
    media::CubeReader reader({.path = *path});
    core::Array<stap::cfloat, 3> cube(reader.info().shape());
    reader.read(cube);
    stap::Parameters parameters;
    parameters.temporal_taps = taps;
    parameters.doppler_bins = bins;
    parameters.training = stap::Training::all;
    const auto problem = stap::make_problem({14, 16, 304, stap::Domain::pulse}, parameters, 1);
    const auto steering = stap::steering_vectors(14, *reader.info().element_spacing_wavelengths,
                                                 {14}, stap::temporal_response({}, 16, bins, taps));
    core::Array<stap::cfloat, 2> map({bins, 304});
    core::Cpu cpu;
    stap::conventional_map(cpu, problem, cube, {steering.data(), {problem.order}}, map);
    const stap::cfloat* bin = map.data() + GetParam().target_bin() * 304;
    const auto stronger = std::count_if(
        bin, bin + 304, [&](const auto& cell) { return std::abs(cell) > std::abs(bin[147]); });
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
