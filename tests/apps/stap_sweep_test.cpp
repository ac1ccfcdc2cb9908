// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap with lists and ranges of values.
#include <gmock/gmock.h>

#include "tests/apps/stap_program.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class StapSweep : public Stap {
  protected:
    void make_cube_with_targets(const std::vector<std::string>& more = {}) {
        make_cube(joined({"--channels", "4", "--pulses", "12", "--range-cells", "150", "--target",
                          "40:0.25:0:12", "--target", "90:-0.3:20:0"},
                         more));
    }
    std::string refusal(const std::vector<std::string>& flags) {
        const Outcome outcome = run_program("stap", joined({cube()}, flags));
        EXPECT_EQ(outcome.status, 1);
        EXPECT_THAT(lines(outcome.error), SizeIs(1));
        return outcome.error;
    }
};

const std::vector<std::string> counted{"detections", "found_targets", "false_detections",
                                       "failed_matrices", "loaded_matrices"};

TEST_F(StapSweep, FindsWhatRunsOneByOneFind) {
    make_cube_with_targets();
    const std::vector<std::string> detectors{"amf", "ace", "cfar"};
    const std::vector<std::string> rates{"1e-06", "0.001", "0.1"};
    const auto report = report_of(
        {"--detector", "amf,ace,cfar", "--pfa", "1e-6,1e-3,0.1", "--scores", folder_ / "roc.csv"});
    ASSERT_THAT(report["sweep"], SizeIs(9));
    const auto best_targets = read_column(result(), "/targets", "range_cell");
    double largest = -1;
    for (std::size_t run = 0; run < 9; ++run) {
        const auto& row = report["sweep"][run];
        EXPECT_EQ(row["detector"], detectors[run / 3]);
        EXPECT_EQ(row["pfa"], std::stod(rates[run % 3]));
        const auto alone = report_of({"--detector", detectors[run / 3], "--pfa", rates[run % 3]});
        for (const std::string& name : counted) {
            const auto& of_alone =
                alone["results"].contains(name) ? alone["results"] : alone["accuracy"];
            EXPECT_EQ(row[name], of_alone[name]) << name << ", run " << run;
        }
        EXPECT_EQ(row["f_measure"], alone["accuracy"]["f_measure"]);
        if (row["best"] == true) {
            EXPECT_EQ(read_column(result(), "/targets", "range_cell"), best_targets);
            EXPECT_EQ(report["results"], alone["results"]);
            EXPECT_EQ(report["accuracy"], alone["accuracy"]);
        }
        largest = std::max<double>(largest, row["f_measure"]);
    }
    EXPECT_EQ(report["accuracy"]["f_measure"], largest);
}

TEST_F(StapSweep, FindsMoreAtALargerRate) {
    make_cube_with_targets();
    const auto rows = report_of({"--detector", "amf", "--pfa", "1e-8:0.1:log:8"})["sweep"];
    ASSERT_THAT(rows, SizeIs(8));
    for (std::size_t i = 1; i < rows.size(); ++i) {
        EXPECT_GE(rows[i]["detections"], rows[i - 1]["detections"]);
        EXPECT_GE(rows[i]["found_targets"], rows[i - 1]["found_targets"]);
    }
    EXPECT_GT(rows.back()["false_detections"], rows.front()["false_detections"]);
}

TEST_F(StapSweep, WithoutADetectorWritesTheResultsOfEachRunAsThatRunDoes) {
    make_cube_with_targets();
    const std::vector<std::string> common{"--save", "covariance,info", "--fftshift"};
    run(joined(common, {"--training-block", "32,48", "--loading", "rel:0.001,0.01"}));
    for (const char* const name : {"cube.stap.0.h5", "cube.stap.1.h5", "cube.stap.2.h5",
                                   "cube.stap.3.h5", "cube.stap.scores.csv"}) {
        EXPECT_THAT(folder_.entries(), Contains(name));
    }
    run(joined(common, {"--training-block", "48", "--loading", "rel:0.001"}));
    for (const char* const name : {"/output", "/covariance"}) {
        const auto alone = read_dataset<std::complex<float>>(result(), name);
        const auto third = read_dataset<std::complex<float>>(folder_ / "cube.stap.2.h5", name);
        EXPECT_EQ(third.extent, alone.extent);
        EXPECT_EQ(third.values, alone.values);
    }
    EXPECT_EQ(text_attribute(folder_ / "cube.stap.2.h5", "loading"), "rel:0.001");
}

TEST_F(StapSweep, KeepsAllResultsThatShareAnAdaptation) {
    make_cube_with_targets();
    run({"--detector", "amf", "--fftshift", "--pfa", "1e-6,1e-3", "--keep", "all"});
    const auto read = [&](const std::string& name) {
        return read_dataset<std::complex<float>>(folder_ / name, "/output").values;
    };
    const auto first = read("cube.stap.0.h5");
    EXPECT_EQ(first, read("cube.stap.1.h5"));
    EXPECT_EQ(first, output_of({"--detector", "amf", "--fftshift"}));
    EXPECT_EQ(number_attribute(folder_ / "cube.stap.1.h5", "/", "pfa"), 1e-3);
}

TEST_F(StapSweep, FiltersDopplerBinsAsEachRunDoes) {
    make_cube_with_targets();
    const std::vector<std::string> common{"--detector", "glrt", "--device", "cpu"};
    run(joined(common, {"--taper", "none,hann", "--doppler-bins", "16,20", "--guard", "0,0",
                        "--keep", "all"}));
    int number = 0;
    for (const char* const taper : {"none", "hann"}) {
        for (const char* const bins : {"16", "20"}) {
            run(joined(common, {"--taper", taper, "--doppler-bins", bins}));
            for (int repeated = 0; repeated < 2; ++repeated, ++number) {
                const auto file = folder_ / ("cube.stap." + std::to_string(number) + ".h5");
                EXPECT_EQ(read_dataset<float>(file, "/statistic").values,
                          read_dataset<float>(result(), "/statistic").values)
                    << number;
                EXPECT_EQ(read_column(file, "/targets", "doppler"),
                          read_column(result(), "/targets", "doppler"));
            }
        }
    }
}

TEST_F(StapSweep, KeepsTheOtherRunsIfOneFails) {
    make_cube_with_targets();
    const Outcome outcome =
        run({"--detector", "amf", "--training-block", "8,32,64", "--scores", folder_ / "s.csv"});
    EXPECT_THAT(lines(outcome.error),
                Contains(StartsWith("stap: warning: 1 of 3 runs failed, the first at "
                                    "training_block 8: " +
                                    cube())));
    const auto table = lines(read_bytes(folder_ / "s.csv"));
    ASSERT_THAT(table, SizeIs(4));
    EXPECT_THAT(table[0], testing::EndsWith(",best,failure"));
    EXPECT_THAT(table[1], StartsWith("8,nan"));
    const Outcome strict = run_program(
        "stap", {cube(), "--detector", "amf", "--training-block", "8,32", "--strict", "--quiet"});
    EXPECT_EQ(strict.status, 3);
    EXPECT_THAT(refusal({"--detector", "amf", "--training-block", "6,8"}),
                HasSubstr("2 of 2 runs failed, the first at training_block 6: "));
}

TEST_F(StapSweep, RefusesWhatItCannotCompare) {
    media::tests::write_cube(cube(), {.shape = {3, 8, 100}});
    const char* const no_targets =
        "no true targets to find the best run with (--truth, --keep all)";
    EXPECT_THAT(refusal({"--detector", "amf,ace"}), HasSubstr(no_targets));
    make_small_cube();
    EXPECT_THAT(refusal({"--detector", "amf,ace"}), HasSubstr(no_targets));
    EXPECT_THAT(refusal({"--detector", "amf,none", "--pfa", "0.1"}),
                HasSubstr("--pfa requires a detector"));
    EXPECT_THAT(refusal({"--detector", "amf", "--pfa", "0.1,2"}),
                HasSubstr("--pfa 2: expected a probability"));
    EXPECT_THAT(refusal({"--loading", "rel:1e-4:1e-1"}), HasSubstr("--loading"));
    EXPECT_THAT(refusal({"--loading", "rel:,"}), HasSubstr("--loading"));
    EXPECT_THAT(refusal({"--loading", "0:1:1000000"}),
                HasSubstr("1000000 runs, expected at most 10000"));
    EXPECT_THAT(refusal({"--loading", "1,2", "--keep", "best"}),
                HasSubstr("--keep best requires a detector"));
    EXPECT_THAT(folder_.entries(), ElementsAre("cube.h5"));
}

}  // namespace
}  // namespace aperture::apps::tests
