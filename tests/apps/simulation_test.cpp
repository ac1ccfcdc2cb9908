// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap_sim writes what it reports, and stap finds the targets of stap_sim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "aperture/media/cube_file.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using aperture::tests::TemporaryFolder;
using testing::ElementsAre;

struct PerfectShape {
    std::string size;
    core::Extents<3> shape;
    core::index_t training_block;
};
void PrintTo(const PerfectShape& perfect, std::ostream* stream) { *stream << perfect.size; }

class PerfectCube : public testing::TestWithParam<PerfectShape> {};

INSTANTIATE_TEST_SUITE_P(Sizes, PerfectCube,
                         testing::Values(PerfectShape{"small", {4, 128, 512}, 32},
                                         PerfectShape{"medium", {6, 128, 1024}, 64},
                                         PerfectShape{"large", {8, 128, 4096}, 64}),
                         [](const auto& instance) { return instance.param.size; });

TEST_P(PerfectCube, HasShapeAndAttributes) {
    const TemporaryFolder folder;
    const Outcome outcome =
        run_program("stap_sim", {"--perfect", GetParam().size, "--out", folder / "cube.h5"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(folder.entries(), ElementsAre("cube.h5"));
    media::CubeReader reader({.path = folder / "cube.h5"});
    EXPECT_EQ(reader.info().shape(), GetParam().shape);
    EXPECT_EQ(reader.info().doppler_bins, 256);
    EXPECT_EQ(reader.info().training_block, GetParam().training_block);
    EXPECT_EQ(reader.info().axis_rule, media::AxisRule::dimension_labels);
    EXPECT_EQ(reader.info().domain, media::Domain::pulse);
}

TEST(ClutterCube, CarriesItsTruth) {
    const TemporaryFolder folder;
    const Outcome outcome = run_program(
        "stap_sim",
        joined(
            words_of("--clutter --channels 3 --pulses 5 --range-cells 400 --cnr 20 --spacing 0.4 "
                     "--prf 500 --jammer 30:10 --target 7:0.25:-12.5:3 --target 9:-0.5:0:-4"),
            {"--out", folder / "cube.h5"}));
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const auto file = folder / "cube.h5";
    EXPECT_THAT(read_column(file, "/truth", "range_cell"), ElementsAre(7, 9));
    EXPECT_THAT(read_column(file, "/truth", "doppler"), ElementsAre(0.25, -0.5));
    EXPECT_THAT(read_column(file, "/truth", "azimuth_degrees"), ElementsAre(-12.5, 0));
    EXPECT_THAT(read_column(file, "/truth", "snr_db"), ElementsAre(3, -4));
    EXPECT_THAT(read_column(file, "/jammers", "azimuth_degrees"), ElementsAre(30));
    const auto covariance = read_dataset<std::complex<double>>(file, "/true_covariance");
    ASSERT_THAT(covariance.extent, ElementsAre(15, 15));
    // Clutter of 20 dB, a jammer of 10 dB and noise of 0 dB on every element and pulse.
    for (std::size_t i = 0; i < 15; ++i) EXPECT_NEAR(covariance.values[i * 16].real(), 111, 1e-9);
    media::CubeReader reader({.path = file});
    EXPECT_EQ(reader.info().element_spacing_wavelengths, 0.4);
    EXPECT_EQ(reader.info().prf_hz, 500);
}

TEST(ClutterCube, RepeatsWithItsSeed) {
    const TemporaryFolder folder;
    const auto draw = [&](const std::string& name, const std::string& seed,
                          const std::string& threads) {
        const Outcome outcome =
            run_program("stap_sim", {"--clutter", "--range-cells", "50", "--seed", seed,
                                     "--threads", threads, "--out", folder / name});
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        return read_dataset<std::complex<float>>(folder / name, "/cube").values;
    };
    const auto first = draw("a.h5", "5", "1");
    EXPECT_EQ(first, draw("b.h5", "5", "2"));
    EXPECT_NE(first, draw("c.h5", "6", "1"));
}

class PlantedTargets : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Detectors, PlantedTargets, testing::Values("amf", "ace", "glrt"),
                         [](const auto& instance) { return instance.param; });

TEST_P(PlantedTargets, AreTheDetections) {
    const TemporaryFolder folder;
    const auto cube = folder / "cube.h5";
    const Outcome made = run_program(
        "stap_sim",
        joined(words_of("--clutter --channels 8 --pulses 16 --range-cells 320 --cnr 40 --jammer "
                        "50:30 --prf 1000 --seed 3 --target 60:0.25:0:6 --target 250:-0.3125:20:6"),
               {"--out", cube}));
    ASSERT_EQ(made.status, 0) << made.error;
    const Outcome found =
        run_program("stap", {"--cube", cube, "--azimuth", "-20,0,20", "--detector", GetParam(),
                             "--pfa", "1e-7", "--training-block", "80", "--device", "cpu"});
    ASSERT_EQ(found.status, 0) << found.error;

    const auto result = folder / "cube.stap.h5";
    const auto cell = read_column(result, "/detections", "range_cell");
    const auto bin = read_column(result, "/detections", "doppler_bin");
    const auto azimuth = read_column(result, "/detections", "azimuth_degrees");
    const auto hertz = read_column(result, "/detections", "doppler_hz");
    const auto statistic = read_column(result, "/detections", "statistic_db");
    const auto threshold = read_column(result, "/detections", "threshold_db");
    EXPECT_TRUE(std::is_sorted(statistic.rbegin(), statistic.rend()));
    bool first = false;
    bool second = false;
    for (std::size_t i = 0; i < cell.size(); ++i) {
        EXPECT_GT(statistic[i], threshold[i]);
        if (cell[i] == 60 && bin[i] == 4 && azimuth[i] == 0) {
            first = true;
            EXPECT_EQ(hertz[i], 250);
        }
        if (cell[i] == 250 && bin[i] == 11 && azimuth[i] == 20) {
            second = true;
            EXPECT_EQ(hertz[i], -312.5);
        }
        // All other detections are side lobes of a target, in its range cell.
        EXPECT_TRUE(cell[i] == 60 || cell[i] == 250) << cell[i];
    }
    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
}

}  // namespace
}  // namespace aperture::apps::tests
