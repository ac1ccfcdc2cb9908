// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Input that bgsub refuses, and its error messages.
#include <algorithm>

#include "apps/bgsub/separator.hpp"
#include "tests/apps/bgsub_clip.hpp"

namespace aperture::apps::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

struct BadCall {
    std::string name;
    std::vector<std::string> arguments;  ///< "FOLDER/" stands for the folder of the test
    std::string expected;
};
void PrintTo(const BadCall& call, std::ostream* stream) { *stream << call.name; }

class RefusedBgsub : public Bgsub, public testing::WithParamInterface<BadCall> {};

INSTANTIATE_TEST_SUITE_P(
    All, RefusedBgsub,
    testing::Values(
        BadCall{"missing", {"FOLDER/none.avi"}, "none.avi: no such file"},
        BadCall{"no_video", {"FOLDER/text.txt"}, "text.txt: "},
        BadCall{"empty_folder", {"FOLDER/empty"}, "empty: the folder contains no image"},
        BadCall{"sizes", {"FOLDER/mixed"}, "2.pgm: 8x4 pixels, but "},
        BadCall{
            "frames_beyond", {"FOLDER/clip", "--frames", "5:9"}, "--frames exceeds the 4 frames"},
        BadCall{"frames_backwards", {"FOLDER/clip", "--frames", "3:1"}, "FIRST:LAST"},
        BadCall{"scale_zero", {"FOLDER/clip", "--scale", "0"}, "expected a factor"},
        BadCall{"scale_form", {"FOLDER/clip", "--scale", "8x8x8"}, "expected a factor"},
        BadCall{"scale_parts", {"FOLDER/clip", "--scale", "8.5x8"}, "whole pixels"},
        BadCall{"memory", {"FOLDER/clip", "--scale", "200000x200000"}, "try --window, fewer"},
        BadCall{"window_memory",
                {"FOLDER/clip", "--scale", "200000x200000", "--window", "3"},
                "--window 3: "},
        BadCall{"gpu_median",
                {"FOLDER/clip", "--device", "gpu", "--method", "median"},
                "--method median runs only on the CPU"},
        BadCall{"gpu_online",
                {"FOLDER/clip", "--device", "gpu", "--online"},
                "--online runs only on the CPU"},
        BadCall{"fp32_tolerance", {"FOLDER/clip", "--tolerance", "1e-7"}, "--precision fp64"},
        BadCall{"one_frame",
                {"FOLDER/clip/input/in000001.pgm"},
                "in000001.pgm: 1 frame, but at least 2 are required"},
        BadCall{"one_of_frames",
                {"FOLDER/clip", "--frames", "2:3", "--method", "median"},
                "1 frame, but at least 2 are required"},
        BadCall{"window_of_one", {"FOLDER/clip", "--window", "1"}, "--window"},
        BadCall{"overlap", {"FOLDER/clip", "--overlap", "3"}, "--overlap requires --window"},
        BadCall{"overlap_all",
                {"FOLDER/clip", "--window", "3", "--overlap", "3"},
                "expected less than --window 3"},
        BadCall{"repeat",
                {"FOLDER/clip", "--window", "3", "--repeat", "3"},
                "cannot be combined with --window"},
        BadCall{"median_solver",
                {"FOLDER/clip", "--method", "median", "--lambda", "1"},
                "--lambda requires --method rpca"},
        BadCall{"projected_lambda",
                {"FOLDER/clip", "--solver", "accaltproj", "--lambda", "1"},
                "--lambda requires --solver ialm or admm"},
        BadCall{"ialm_rank",
                {"FOLDER/clip", "--rank", "3"},
                "--rank requires --solver accaltproj or --online"},
        BadCall{"online_window",
                {"FOLDER/clip", "--online", "--window", "3"},
                "--window cannot be combined with --online"},
        BadCall{"online_median",
                {"FOLDER/clip", "--online", "--method", "median"},
                "--online requires --method rpca"},
        BadCall{"online_rank", {"FOLDER/clip", "--online", "--rank", "17"}, "between 1 and 16"},
        BadCall{"burn_in", {"FOLDER/clip", "--burn-in", "3"}, "--burn-in requires --online"},
        BadCall{"online_memory",
                {"FOLDER/clip", "--online", "--scale", "200000x200000"},
                "--burn-in 100: "},
        BadCall{"clean", {"FOLDER/clip", "--clean", "4"}, "expected an odd number"},
        BadCall{"threshold", {"FOLDER/clip", "--threshold", "-1"}, "expected a number from 0"},
        BadCall{"threshold_nan", {"FOLDER/clip", "--threshold", "nan"}, "--threshold"},
        BadCall{"noise", {"FOLDER/clip", "--threshold", "noise:0"}, "expected a number above 0"},
        BadCall{"until",
                {"FOLDER/clip", "--until", "mask", "--threshold", "noise:3"},
                "requires a fixed --threshold"},
        BadCall{"truth", {"FOLDER/clip", "--truth", "FOLDER/empty"}, "no true mask"},
        BadCall{"out", {"FOLDER/clip", "--out", "FOLDER/text.txt/x"}, "cannot write"},
        BadCall{"report",
                {"FOLDER/clip", "--report", "FOLDER/clip/input/in000001.pgm"},
                "it is the input"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedBgsub, LeavesOneLineAndNoFile) {
    write_frames({.width = 24, .height = 16, .side = 4}, 4);
    write_bytes(folder_ / "text.txt", "no video");
    std::filesystem::create_directory(folder_ / "empty");
    std::filesystem::create_directory(folder_ / "mixed");
    write_bytes(folder_ / "mixed/1.pgm", "P5 4 4 255\n" + std::string(16, ' '));
    write_bytes(folder_ / "mixed/2.pgm", "P5 8 4 255\n" + std::string(32, ' '));
    constexpr std::string_view mark = "FOLDER/";
    std::vector<std::string> arguments{"--out-format", "npy"};
    const bool names_device =
        std::count(GetParam().arguments.begin(), GetParam().arguments.end(), "--device") > 0;
    for (const std::string& word : GetParam().arguments) {
        arguments.push_back(word);
        if (word.starts_with(mark)) arguments.back() = folder_ / word.substr(mark.size());
    }
    const Outcome outcome = names_device ? run_program("bgsub", arguments) : run(arguments);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(lines(outcome.error), SizeIs(1));
    EXPECT_THAT(outcome.error, StartsWith("bgsub: error: "));
    EXPECT_THAT(outcome.error, HasSubstr(GetParam().expected));
    EXPECT_THAT(folder_.entries(), ElementsAre("clip", "empty", "mixed", "text.txt"));
}

TEST(ScaleOfFrames, IsAFactorOrASize) {
    EXPECT_EQ(parse_scale("0.25").factor, 0.25);
    EXPECT_EQ(parse_scale("384x288").width, 384);
    EXPECT_EQ(parse_scale("384x288").height, 288);
}

}  // namespace
}  // namespace aperture::apps::tests
