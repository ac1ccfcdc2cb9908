// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub with lists and ranges of values.
#include <cmath>

#include "tests/apps/bgsub_clip.hpp"

namespace aperture::apps::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const std::vector<std::string> raw{"--clean", "0", "--keep-holes", "--keep-shadows"};

class BgsubSweep : public Bgsub {
  protected:
    /// A clip and true masks of its frames from the fourth on, a third of which is not scored.
    void write_scored_clip(const Scene& scene = {}, int count = 13) {
        write_frames(scene, count);
        std::filesystem::create_directories(clip() / "groundtruth");
        for (int i = 3; i < count; ++i) {
            std::string mask = "P5 97 73 255\n";
            for (int y = 0; y < scene.height; ++y) {
                for (int x = 0; x < scene.width; ++x) {
                    const int label = y < 24                      ? 85
                                      : scene.moving(i, x, y)     ? 255
                                      : scene.moving(i, x, y - 3) ? 50
                                                                  : 0;
                    mask += static_cast<char>(label);
                }
            }
            write_bytes(folder_ / numbered("clip/groundtruth/gt", i + 1, ".pgm"), mask);
        }
    }
    /// Of a run that writes arrays.
    nlohmann::json report_of(const std::vector<std::string>& flags) const {
        const Outcome outcome = run_to_arrays(joined({clip(), "--truth", clip()}, flags));
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_THAT(outcome.error, IsEmpty());
        return report();
    }
    std::string bytes_of(const char* content, const std::string& number = "") const {
        return read_bytes(folder_ / ("clip" + number + '.' + content + ".npy"));
    }
    std::vector<std::string> arrays(const std::string& number = "") const {
        return {bytes_of("background", number), bytes_of("foreground", number),
                bytes_of("mask", number)};
    }
    /// Expects that each run finds what a run of its own does, and that the best is written.
    void expect_runs(const std::vector<std::string>& sweep,
                     const std::vector<std::vector<std::string>>& runs,
                     const std::vector<std::string>& common) const {
        const nlohmann::json swept = report_of(joined(common, sweep));
        const std::vector<std::string> written = arrays();
        ASSERT_THAT(swept["sweep"], SizeIs(runs.size()));
        double largest = -1;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            SCOPED_TRACE(testing::PrintToString(runs[i]));
            const auto& row = swept["sweep"][i];
            nlohmann::json alone = report_of(joined(common, runs[i]));
            alone["results"].erase("frames_per_second");
            for (const auto& [name, value] : alone["accuracy"].items()) {
                EXPECT_EQ(row[name], value) << name;
            }
            for (const auto& [name, value] : alone["results"].items()) {
                // Of the camera: not in a table.
                if (name == "shifts") continue;
                EXPECT_EQ(row[name], value) << name;
            }
            largest = std::max<double>(largest, alone["accuracy"]["f_measure"]);
            if (row["best"] != true) continue;
            EXPECT_EQ(arrays(), written);
            EXPECT_EQ(swept["results"], alone["results"]);
            EXPECT_EQ(swept["accuracy"], alone["accuracy"]);
            alone["parameters"].erase("chosen_because");
            nlohmann::json parameters = swept["parameters"];
            parameters.erase("chosen_because");
            EXPECT_EQ(parameters, alone["parameters"]);
        }
        EXPECT_EQ(swept["accuracy"]["f_measure"], largest);
    }
    std::string refusal(const std::vector<std::string>& flags) const {
        const Outcome outcome = run(joined({clip()}, flags));
        EXPECT_EQ(outcome.status, 1);
        EXPECT_THAT(lines(outcome.error), SizeIs(1));
        return outcome.error;
    }
};

TEST_F(BgsubSweep, FindsWhatRunsOneByOneFind) {
    write_scored_clip();
    expect_runs({"--lambda", "0.005,0.03", "--clean", "0,5"},
                {{"--lambda", "0.005", "--clean", "0"},
                 {"--lambda", "0.005", "--clean", "5"},
                 {"--lambda", "0.03", "--clean", "0"},
                 {"--lambda", "0.03", "--clean", "5"}},
                {"--stabilise", "off"});
}

TEST_F(BgsubSweep, ScoresThresholdsOfRawMasksAsMasks) {
    write_scored_clip();
    expect_runs({"--threshold", "150,5", "--lambda", "0.03,0.01"},
                {{"--lambda", "0.03", "--threshold", "150"},
                 {"--lambda", "0.03", "--threshold", "5"},
                 {"--lambda", "0.01", "--threshold", "150"},
                 {"--lambda", "0.01", "--threshold", "5"}},
                joined(raw, {"--stabilise", "off"}));
}

TEST_F(BgsubSweep, ScoresThresholdsOfRawMasksOfAnotherSize) {
    write_scored_clip();
    for (const char* const size : {"0.5", "120x60"}) {
        SCOPED_TRACE(size);
        expect_runs({"--threshold", "5,20.5"}, {{"--threshold", "5"}, {"--threshold", "20.5"}},
                    joined(raw, {"--scale", size, "--color", "rgb", "--method", "median"}));
    }
}

TEST_F(BgsubSweep, ScoresThresholdsWithCleanUpByTheMedian) {
    write_scored_clip();
    expect_runs({"--threshold", "noise:3,30", "--min-area", "0,900"},
                {{"--threshold", "noise:3", "--min-area", "0"},
                 {"--threshold", "noise:3", "--min-area", "900"},
                 {"--threshold", "noise:30", "--min-area", "0"},
                 {"--threshold", "noise:30", "--min-area", "900"}},
                {"--method", "median"});
}

TEST_F(BgsubSweep, StabilisesTheFramesOnce) {
    write_scored_clip({.side = 16, .step = 3, .shake = 4}, 24);
    expect_runs({"--lambda", "0.01,0.02"}, {{"--lambda", "0.01"}, {"--lambda", "0.02"}}, {});
    EXPECT_EQ(report()["results"]["stabilised_windows"], 1);
}

TEST_F(BgsubSweep, KeepsAllResultsThatShareABackground) {
    write_scored_clip();
    const std::vector<std::string> common = joined(raw, {"--stabilise", "off"});
    report_of(joined(common, {"--lambda", "0.01,0.03", "--threshold", "9,30", "--keep", "all"}));
    int number = 0;
    for (const char* const lambda : {"0.01", "0.03"}) {
        for (const char* const threshold : {"9", "30"}) {
            const auto kept = arrays('.' + std::to_string(number++));
            report_of(joined(common, {"--lambda", lambda, "--threshold", threshold}));
            EXPECT_EQ(kept, arrays()) << lambda << ' ' << threshold;
        }
    }
    EXPECT_THAT(folder_.entries(), Contains("clip.scores.csv"));
}

TEST_F(BgsubSweep, WithoutATruthWritesPicturesOfAllRuns) {
    write_frames({}, 12);
    const std::vector<std::string> flags{"--stabilise", "off",        "--out-format", "png",
                                         "--save",      "mask",       "--threshold",  "10,50",
                                         "--out",       folder_ / "a"};
    for (int repeated = 0; repeated < 2; ++repeated) {
        const Outcome outcome = run(joined({clip()}, flags));
        ASSERT_EQ(outcome.status, 0) << outcome.error;
    }
    EXPECT_THAT(folder_.entries(),
                AllOf(Contains("a.0.mask"), Contains("a.1.mask"), Contains("a.scores.csv")));
    const auto table = lines(read_bytes(folder_ / "a.scores.csv"));
    ASSERT_THAT(table, SizeIs(3));
    EXPECT_THAT(table[0], StartsWith("threshold,converged"));
    EXPECT_THAT(table[1], AllOf(StartsWith("10,"), testing::EndsWith(",0")));
}

TEST_F(BgsubSweep, SaysThatNoFrameIsScored) {
    write_scored_clip();
    const Outcome outcome = run({clip(), "--truth", clip(), "--frames", "0:3", "--threshold",
                                 "10,20", "--out-format", "npy", "--report", folder_ / "r.json"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.error, HasSubstr("no true mask for any frame"));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("best at")));
    EXPECT_THAT(report()["sweep"][0]["best"], false);
    EXPECT_TRUE(report()["sweep"][0]["f_measure"].is_null());
}

TEST_F(BgsubSweep, RefusesWhatItCannotCompare) {
    write_scored_clip();
    EXPECT_THAT(refusal({"--lambda", "1:2"}), HasSubstr("--lambda"));
    EXPECT_THAT(refusal({"--lambda", ","}), HasSubstr("--lambda ,: a value is empty"));
    EXPECT_THAT(refusal({"--lambda", "0.1:0.2:1000000"}),
                HasSubstr("1000000 runs, expected at most 10000"));
    EXPECT_THAT(refusal({"--lambda", "0.1,0"}), HasSubstr("--lambda 0: expected"));
    EXPECT_THAT(refusal({"--threshold", "1,2000"}), HasSubstr("--threshold 2000: expected"));
    EXPECT_THAT(refusal({"--threshold", "pixel,20"}), HasSubstr("--threshold"));
    EXPECT_THAT(refusal({"--clean", "3:5:3"}), HasSubstr("--clean 4: expected an odd number"));
    EXPECT_THAT(refusal({"--lambda", "1,2", "--solver", "accaltproj"}),
                HasSubstr("--lambda requires --solver ialm or admm"));
    EXPECT_THAT(refusal({"--threshold", "10,20", "--window", "5"}),
                HasSubstr("requires frames that are solved together, without --window"));
    EXPECT_THAT(refusal({"--threshold", "10,20", "--online"}),
                HasSubstr("requires frames that are solved together, without --method online"));
    EXPECT_THAT(refusal({"--threshold", "10,20", "--until", "mask"}),
                HasSubstr("--until mask cannot be combined"));
    EXPECT_THAT(refusal({"--lambda", "1,2", "--out-format", "png", "--resume"}),
                HasSubstr("--resume cannot be combined"));
    EXPECT_THAT(refusal({"--lambda", "1,2", "--plot-shifts", "a.png"}),
                HasSubstr("--plot-shifts cannot be combined"));
    EXPECT_THAT(refusal({"--lambda", "1,2", "--keep", "best"}),
                HasSubstr("--keep best requires --truth"));
    EXPECT_THAT(refusal({"--keep", "all"}), HasSubstr("--keep requires a list or a range"));
    EXPECT_THAT(refusal({"--scores", "a.csv"}), HasSubstr("--scores requires a list or a range"));
    EXPECT_THAT(refusal({"--lambda", "1,2", "--scores", frame(0).replace_extension(".csv"),
                         "--report", frame(0).replace_extension(".csv")}),
                HasSubstr("in000001.csv"));
    EXPECT_THAT(folder_.entries(), ElementsAre("clip"));
}

}  // namespace
}  // namespace aperture::apps::tests
