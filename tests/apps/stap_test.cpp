// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap as a user runs it on valid cubes: what it writes, prints and reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "aperture/core/executor.hpp"
#include "tests/apps/stap_program.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// The largest difference divided by the largest magnitude.
double relative_difference(const Samples& a, const Samples& b) {
    if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
    double difference = 0;
    double scale = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = std::max(difference, double(std::abs(a[i] - b[i])));
        scale = std::max(scale, double(std::abs(a[i])));
    }
    return difference / scale;
}

TEST_F(Stap, AloneWritesBesideTheInputAndPrintsSixLines) {
    make_small_cube();
    const std::string before = read_bytes(cube());
    const Outcome outcome = run({});
    EXPECT_THAT(folder_.entries(), ElementsAre("cube.h5", "cube.stap.h5"));
    EXPECT_EQ(read_bytes(cube()), before);
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(
        lines(outcome.out),
        ElementsAre(AllOf(StartsWith("cube"), HasSubstr("4 channels x 12 pulses x 150 range cells"),
                          HasSubstr("dimension labels")),
                    AllOf(StartsWith("array"), HasSubstr("spacing"), HasSubstr("PRF")),
                    StartsWith("device"),
                    AllOf(StartsWith("stages"), HasSubstr("doppler"), HasSubstr("adaptive"),
                          HasSubstr("GFLOP/s")),
                    AllOf(StartsWith("covariance"), HasSubstr("48 of order 12"),
                          HasSubstr("worst pivot ratio")),
                    AllOf(StartsWith("result"), HasSubstr("cube.stap.h5"))));
    // 16 directions; 12 pulses rounded up to 16 Doppler bins.
    EXPECT_THAT(read_dataset<std::complex<float>>(result(), "/output").extent,
                ElementsAre(16, 16, 150));
    EXPECT_FALSE(has_dataset(result(), "/statistic"));
    EXPECT_EQ(text_attribute(result(), "program"), "stap");
    EXPECT_THAT(text_attribute(result(), "command_line"), HasSubstr("--cube " + cube()));
    EXPECT_EQ(text_attribute(result(), "training"), "block");
}

TEST_F(Stap, OnTheGpuAgreesWithTheCpu) {
    if (!core::gpu_status().usable) GTEST_SKIP() << "no GPU: " << core::gpu_status().reason;
    make_small_cube();
    const Samples on_cpu = output_of({"--device", "cpu"});
    EXPECT_LT(relative_difference(on_cpu, output_of({"--device", "gpu"})), 1e-3);
    EXPECT_LT(relative_difference(on_cpu, output_of({"--device", "gpu", "--impl", "staged"})),
              1e-3);
    EXPECT_LT(relative_difference(on_cpu, output_of({"--device", "gpu", "--impl", "cublas"})),
              1e-3);
}

TEST_F(Stap, ObeysAttributesUnlessAFlagOverrides) {
    make_cube({"--channels", "4", "--pulses", "12", "--range-cells", "150", "--doppler-bins", "20",
               "--training-block", "50"});
    const auto obeyed = report_of({})["parameters"];
    EXPECT_EQ(obeyed["doppler_bins"], 20);
    EXPECT_EQ(obeyed["training_block"], 50);
    EXPECT_EQ(obeyed["element_spacing_wavelengths"], 0.5);
    const auto overridden = report_of({"--doppler-bins", "24", "--training-block", "40",
                                       "--spacing", "0.45", "--prf", "100"})["parameters"];
    EXPECT_EQ(overridden["doppler_bins"], 24);
    EXPECT_EQ(overridden["training_block"], 40);
    EXPECT_EQ(overridden["element_spacing_wavelengths"], 0.45);
    EXPECT_EQ(overridden["prf_hz"], 100.0);
}

TEST_F(Stap, SaysWhatItAssumes) {
    media::tests::write_cube(cube(), {.shape = {3, 8, 100}});
    const auto assumed = lines(run({"--device", "cpu"}).out);
    EXPECT_EQ(assumed[1], "array       spacing 0.5 wavelengths (assumed), PRF unknown");
    EXPECT_EQ(report_of({"--device", "cpu"})["parameters"]["spacing_assumed"], true);
    {
        const media::Handle file = media::tests::open_to_add(cube());
        media::tests::add_number(file, "element_spacing_wavelengths", 0.48);
        media::tests::add_number(file, "prf_hz", 625);
        media::tests::add_number(file, "range_bin_m", 150);
        media::tests::add_number(file, "range_start_m", 1200);
    }
    const auto known = lines(run({"--device", "cpu"}).out);
    EXPECT_EQ(known[1],
              "array       spacing 0.48 wavelengths, PRF 625 Hz, range cells of 150 m from 1200 m");
    EXPECT_EQ(report_of({"--device", "cpu"})["parameters"]["spacing_assumed"], false);
}

TEST_F(Stap, WarnsOfExtentsThatLookSwapped) {
    const std::vector<std::string> flags{"--device", "cpu", "--tdof", "1"};
    const auto warned = [&](const core::Extents<3>& shape, const std::vector<std::string>& more) {
        media::tests::write_cube(cube(), {.shape = shape});
        return run(joined(flags, more)).error;
    };
    EXPECT_THAT(warned({4, 304, 14}, {}),
                HasSubstr("4 channels x 304 pulses x 14 range cells look swapped; --axes"));
    EXPECT_THAT(warned({30, 6, 100}, {}), HasSubstr("look swapped"));
    EXPECT_THAT(warned({4, 304, 14}, {"--axes", "channel,pulse,range"}),
                testing::Not(HasSubstr("look swapped")));
    EXPECT_THAT(warned({4, 64, 40}, {}), testing::Not(HasSubstr("look swapped")));
}

TEST_F(Stap, ReportIsCompleteJson) {
    make_small_cube();
    const auto report =
        report_of({"--device", "cpu", "--threads", "2", "--repeat", "3", "--detector", "amf"});
    EXPECT_EQ(report["program"], "stap");
    EXPECT_FALSE(report["version"].get<std::string>().empty());
    EXPECT_FALSE(report["git"].get<std::string>().empty());
    std::vector<std::string> names;
    double sum = 0;
    for (const auto& stage : report["stages"]) {
        names.push_back(stage["name"]);
        EXPECT_GE(stage["ms"].get<double>(), 0);
        if (stage["name"] == "doppler" || stage["name"] == "adaptive") {
            EXPECT_GT(stage["gflop"].get<double>(), 0);
            EXPECT_GT(stage["mb"].get<double>(), 0);
        }
        if (stage["name"] != "read" && stage["name"] != "write") sum += stage["ms"].get<double>();
    }
    EXPECT_THAT(names, ElementsAre("read", "doppler", "adaptive", "repeat", "detect", "write"));
    EXPECT_GT(report["compute_ms"].get<double>(), 0);
    EXPECT_EQ(report["transfer_ms"], 0.0);
    EXPECT_GE(report["total_ms"].get<double>(), report["compute_ms"].get<double>());
    EXPECT_GT(report["total_ms"].get<double>(), sum / 2);
    EXPECT_EQ(report["results"]["failed_matrices"], 0);
}

TEST_F(Stap, ImplementationsAndPrecisionsAgree) {
    make_small_cube();
    const Samples fused = output_of({"--device", "cpu", "--threads", "1"});
    EXPECT_EQ(fused, output_of({"--device", "cpu", "--threads", "2"}));
    EXPECT_LT(relative_difference(fused, output_of({"--device", "cpu", "--impl", "staged"})), 1e-3);
    EXPECT_LT(relative_difference(fused, output_of({"--device", "cpu", "--precision", "mixed"})),
              1e-3);
    EXPECT_LT(
        relative_difference(fused, output_of({"--device", "cpu", "--solver", "gauss-jordan"})),
        1e-3);
    EXPECT_GT(relative_difference(fused, output_of({"--device", "cpu", "--taper", "hann"})), 1e-3);
}

TEST_F(Stap, SavesWhatIsAskedFor) {
    make_small_cube();
    run({"--device", "cpu", "--azimuth", "0,10", "--save", "covariance,weights,info,steering",
         "--out", folder_ / "x.h5"});
    const auto file = folder_ / "x.h5";
    EXPECT_THAT(read_dataset<std::complex<float>>(file, "/output").extent, ElementsAre(2, 16, 150));
    EXPECT_THAT(read_dataset<std::complex<float>>(file, "/covariance").extent,
                ElementsAre(16, 3, 12, 12));
    const auto weights = read_dataset<std::complex<float>>(file, "/weights");
    const auto steering = read_dataset<std::complex<float>>(file, "/steering");
    EXPECT_THAT(weights.extent, ElementsAre(16, 3, 2, 12));
    EXPECT_THAT(steering.extent, ElementsAre(2, 12));
    EXPECT_THAT(read_dataset<int>(file, "/info").values, testing::Each(0));
    EXPECT_THAT(read_dataset<float>(file, "/pivot_ratio").extent, ElementsAre(16, 3));
    EXPECT_THAT(read_dataset<double>(file, "/azimuth").values, ElementsAre(0, 10));
    // w = R^-1 v makes w^H v real and positive.
    for (std::size_t i = 0; i < 16UL * 3 * 2; ++i) {
        std::complex<double> gain = 0;
        for (std::size_t e = 0; e < 12; ++e) {
            gain += std::conj(std::complex<double>(weights.values[i * 12 + e])) *
                    std::complex<double>(steering.values[i % 2 * 12 + e]);
        }
        EXPECT_GT(gain.real(), 0);
        EXPECT_LT(std::abs(gain.imag()), 1e-3 * gain.real());
    }
}

TEST_F(Stap, TakesADatasetBehindTheFileName) {
    media::tests::StoredCube stored{.shape = {3, 8, 100}, .path = "/runs/first"};
    media::tests::write_cube(cube(), stored);
    const Outcome outcome = run_program(
        "stap", {"--cube", cube() + ":/runs/first", "--device", "cpu", "--loading", "rel:0.1"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, HasSubstr("cube.h5:/runs/first"));
    EXPECT_THAT(folder_.entries(), ElementsAre("cube.h5", "cube.stap.h5"));
}

TEST_F(Stap, DefaultsYieldToASmallCube) {
    make_cube({"--channels", "4", "--pulses", "8", "--range-cells", "20"});
    EXPECT_THAT(run({"--device", "cpu"}).error, HasSubstr("--training-block 20 instead of 64"));
    make_cube({"--channels", "4", "--pulses", "8", "--range-cells", "10"});
    const Outcome loaded = run({"--device", "cpu"});
    EXPECT_THAT(loaded.error, HasSubstr("10 training cells are fewer than the order 12"));
    EXPECT_THAT(loaded.error, HasSubstr("--loading rel:0.01"));
    make_cube({"--channels", "1", "--pulses", "1", "--range-cells", "1"});
    EXPECT_THAT(run({"--device", "cpu"}).error, HasSubstr("--tdof 1"));
    make_cube({"--channels", "60", "--pulses", "4", "--range-cells", "100"});
    EXPECT_THAT(run({"--device", "cpu"}).error, HasSubstr("--tdof 1"));
}

TEST_F(Stap, TakesADopplerDomainCube) {
    make_cube({"--channels", "3", "--pulses", "16", "--range-cells", "100"});
    const auto report = report_of({"--device", "cpu", "--domain", "doppler"});
    EXPECT_EQ(report["parameters"]["doppler_bins"], 16);
    EXPECT_EQ(report["parameters"]["domain"], "doppler");
    for (const auto& stage : report["stages"]) EXPECT_NE(stage["name"], "doppler");
}

TEST_F(Stap, TakesTheSteeringVectorsOfTheFile) {
    make_small_cube();
    run({"--device", "cpu", "--azimuth", "5,25,45", "--save", "steering"});
    const auto steering = read_dataset<std::complex<float>>(result(), "/steering");
    const Samples expected = read_dataset<std::complex<float>>(result(), "/output").values;
    {
        const media::Handle file = media::tests::open_to_add(cube());
        const media::Handle type{H5Tcreate(H5T_COMPOUND, 8), H5Tclose};
        H5Tinsert(type, "r", 0, H5T_IEEE_F32LE);
        H5Tinsert(type, "i", 4, H5T_IEEE_F32LE);
        media::tests::add_dataset(file, "/steering", type, {3, 12}, steering.values.data());
    }
    EXPECT_EQ(output_of({"--device", "cpu"}), expected);
    EXPECT_FALSE(has_dataset(result(), "/azimuth"));
}

TEST_F(Stap, TrainsEveryWay) {
    make_cube(
        {"--channels", "3", "--pulses", "8", "--range-cells", "90", "--target", "40:0.25:0:10"});
    for (const std::string training : {"block", "sliding", "all"}) {
        for (const std::string detector : {"amf", "ace", "glrt", "cfar"}) {
            std::vector<std::string> flags{"--device",  "cpu",  "--training",       training,
                                           "--azimuth", "0",    "--detector",       detector,
                                           "--pfa",     "1e-4", "--training-block", "30"};
            if (training != "block") flags.insert(flags.end(), {"--guard", "2"});
            run(flags);
            const auto cells = read_column(result(), "/detections", "range_cell");
            EXPECT_THAT(cells, testing::Contains(40)) << training << ' ' << detector;
            EXPECT_THAT(read_dataset<float>(result(), "/statistic").extent, ElementsAre(1, 8, 90));
        }
    }
}

class StapWithTruth : public Stap {
  protected:
    StapWithTruth() {
        make_cube({"--channels", "4", "--pulses", "16", "--range-cells", "120", "--cnr", "0",
                   "--target", "40:0.25:0:15", "--target", "80:-0.25:0:-60"});
    }
    const std::vector<std::string> detecting_{"--device", "cpu",        "--azimuth",
                                              "0",        "--detector", "amf"};
};

TEST_F(StapWithTruth, ScoresDetectionsAgainstTheCubesOwnTruth) {
    const auto report = report_of(detecting_);
    EXPECT_EQ(report["accuracy"]["planted_targets"], 2);
    EXPECT_EQ(report["accuracy"]["found_targets"], 1);
    EXPECT_TRUE(report["accuracy"]["found_targets"].is_number_integer());
    EXPECT_EQ(report["accuracy"]["false_detections"], 0);
    EXPECT_EQ(report["accuracy"]["targets"],
              nlohmann::json::parse(R"([{"range_cell": 40, "doppler_bin": 4, "found": true},
                                        {"range_cell": 80, "doppler_bin": 12, "found": false}])"));
    EXPECT_THAT(report["inputs"], SizeIs(1));
    EXPECT_EQ(
        lines(run(detecting_).out).back(),
        "targets     1 of 2 found, 0 false detections; missed: range cell 80, Doppler bin 12");
}

TEST_F(StapWithTruth, ScoresDetectionsAgainstAnotherFile) {
    const std::string truth = folder_ / "truth.h5";
    ASSERT_EQ(
        run_program("stap_sim", {"--clutter", "--target", "41:0.3:0:0", "--out", truth, "--quiet"})
            .status,
        0);
    const auto flags = joined(detecting_, {"--truth", truth});
    const auto report = report_of(flags);
    EXPECT_EQ(report["inputs"][1], nlohmann::json({{"content", "truth"}, {"path", truth}}));
    EXPECT_EQ(report["accuracy"]["planted_targets"], 1);
    EXPECT_EQ(report["accuracy"]["found_targets"], 1);
    EXPECT_EQ(report["accuracy"]["false_detections"], 0);
    EXPECT_EQ(lines(run(flags).out).back(), "targets     1 of 1 found, 0 false detections");

    ASSERT_EQ(run_program("stap_sim", {"--clutter", "--out", truth, "--quiet"}).status, 0);
    EXPECT_EQ(lines(run(flags).out).back(), "targets     0 of 0 found, 1 false detection");
}

TEST_F(StapWithTruth, WithoutADetectorIsNotScored) {
    const auto report = report_of({"--device", "cpu"});
    EXPECT_THAT(report["accuracy"], IsEmpty());
    EXPECT_THAT(lines(run({"--device", "cpu"}).out), SizeIs(6));
}

TEST_F(Stap, WithoutATruthIsNotScored) {
    media::tests::write_cube(cube(), {.shape = {3, 8, 100}});
    const auto report = report_of({"--device", "cpu", "--detector", "amf"});
    EXPECT_THAT(report["accuracy"], IsEmpty());
}

TEST_F(Stap, CfarFromTooFewCellsIsRefusedBeforeTheWork) {
    make_small_cube();
    const Outcome refused = run_program(
        "stap", {"--cube", cube(), "--detector", "cfar", "--tdof", "3", "--training-block", "23"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.error, AllOf(HasSubstr("cube.h5: 23 reference cells for order 12"),
                                     HasSubstr("training block of 24 or more")));
    EXPECT_FALSE(std::filesystem::exists(result()));
}

}  // namespace
}  // namespace aperture::apps::tests
