// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Invalid images, truths and outputs: exit status 1, one line that gives the reason, and no output
// file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/apps/image_pairs.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using media::tests::TemporaryFolder;
using media::tests::write_bytes;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// "FOLDER/" in a flag stands for the folder of the test.
constexpr std::string_view folder_mark = "FOLDER/";

struct BadImages {
    std::string name;
    void (*spoil)(const TemporaryFolder& folder);  ///< valid before: a.pgm, b.pgm and truth.flo
    std::vector<std::string> flags;
    std::string expected;
};
void PrintTo(const BadImages& images, std::ostream* stream) { *stream << images.name; }

void spoil_nothing(const TemporaryFolder&) {}

class ValidPair : public testing::Test {
  protected:
    void SetUp() override {
        write_texture(folder_ / "a.pgm", {}, 0, 0);
        write_texture(folder_ / "b.pgm", {}, -1, 0);
        write_constant_flo(folder_ / "truth.flo", 96, 72, 1, 0);
    }
    std::vector<std::string> arguments(const std::vector<std::string>& flags) const {
        std::vector<std::string> words{folder_ / "a.pgm", folder_ / "b.pgm"};
        for (std::string flag : flags) {
            if (flag.starts_with(folder_mark)) {
                flag = folder_ / flag.substr(folder_mark.size());
            }
            words.push_back(flag);
        }
        return words;
    }
    TemporaryFolder folder_;
};

class RefusedImages : public ValidPair, public testing::WithParamInterface<BadImages> {};

INSTANTIATE_TEST_SUITE_P(
    All, RefusedImages,
    testing::Values(
        BadImages{"one_row",
                  [](const TemporaryFolder& folder) {
                      write_bytes(folder / "a.pgm", "P5 40 1 255 " + std::string(40, 'a'));
                      write_bytes(folder / "b.pgm", "P5 40 1 255 " + std::string(40, 'b'));
                  },
                  {"--method", "lk"},
                  "--method lk requires at least 2 x 2 pixels"},

        BadImages{"first_missing",
                  [](const TemporaryFolder& folder) { std::filesystem::remove(folder / "a.pgm"); },
                  {},
                  "a.pgm: no such file"},
        BadImages{"second_missing",
                  [](const TemporaryFolder& folder) { std::filesystem::remove(folder / "b.pgm"); },
                  {},
                  "b.pgm: no such file"},
        BadImages{"no_image",
                  [](const TemporaryFolder& folder) { write_bytes(folder / "b.pgm", "text\n"); },
                  {},
                  "b.pgm: "},
        BadImages{"empty",
                  [](const TemporaryFolder& folder) { write_bytes(folder / "a.pgm", ""); },
                  {},
                  "a.pgm: "},
        BadImages{"truncated",
                  [](const TemporaryFolder& folder) {
                      const std::string bytes = read_bytes(folder / "b.pgm");
                      write_bytes(folder / "b.pgm", bytes.substr(0, bytes.size() / 2));
                  },
                  {},
                  "b.pgm: "},
        BadImages{"other_size",
                  [](const TemporaryFolder& folder) {
                      write_texture(folder / "b.pgm", {.width = 97, .height = 70}, 0, 0);
                  },
                  {},
                  "b.pgm: 97x70 pixels, but "},
        BadImages{"other_size_names_both",
                  [](const TemporaryFolder& folder) {
                      write_texture(folder / "b.pgm", {.width = 97, .height = 70}, 0, 0);
                  },
                  {},
                  "a.pgm has 96x72"},
        BadImages{
            "truth_missing", spoil_nothing, {"--truth", "FOLDER/none.flo"}, "none.flo: no such"},
        BadImages{"truth_is_an_image", spoil_nothing, {"--truth", "FOLDER/a.pgm"}, "a.pgm: "},
        BadImages{"truth_of_other_size",
                  [](const TemporaryFolder& folder) {
                      write_constant_flo(folder / "truth.flo", 72, 96, 0, 0);
                  },
                  {"--truth", "FOLDER/truth.flo"},
                  "truth.flo: 72x96 pixels, but "},
        BadImages{"picture_is_first_image",
                  spoil_nothing,
                  {"--warped", "FOLDER/a.pgm"},
                  "a.pgm: cannot write: it is the input"},
        BadImages{"picture_is_second_image",
                  spoil_nothing,
                  {"--arrows", "FOLDER/b.pgm"},
                  "b.pgm: cannot write: it is the input"},
        BadImages{"report_is_an_image",
                  spoil_nothing,
                  {"--report", "FOLDER/b.pgm"},
                  "b.pgm: cannot write: it is the input"},
        BadImages{"flow_is_the_truth",
                  spoil_nothing,
                  {"--truth", "FOLDER/truth.flo", "--out", "FOLDER/truth.flo"},
                  "truth.flo: cannot write: it is the input"},
        BadImages{"two_outputs_of_one_name",
                  spoil_nothing,
                  {"--warped", "FOLDER/x.ppm", "--arrows", "FOLDER/x.ppm"},
                  "x.ppm: used for two outputs"},
        BadImages{"flow_in_a_file",
                  spoil_nothing,
                  {"--out", "FOLDER/a.pgm/a.flo"},
                  "a.flo: cannot write"},
        BadImages{"warped_in_a_file",
                  spoil_nothing,
                  {"--warped", "FOLDER/a.pgm/x.ppm"},
                  "x.ppm: cannot write"},
        BadImages{"mask_in_a_file",
                  spoil_nothing,
                  {"--consistency", "FOLDER/a.pgm/x.ppm"},
                  "x.ppm: cannot write"},
        BadImages{"table_in_a_file",
                  spoil_nothing,
                  {"--convergence", "FOLDER/a.pgm/x.csv"},
                  "x.csv: cannot write"},
        BadImages{"report_in_a_file",
                  spoil_nothing,
                  {"--report", "FOLDER/a.pgm/x.json"},
                  "x.json: cannot write"},
        BadImages{"impl_on_the_cpu", spoil_nothing, {"--impl", "staged"}, "--impl requires a GPU"},
        BadImages{"report_is_a_device", spoil_nothing, {"--report", "/dev/full"}, "/dev/full"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedImages, LeaveOneLineAndNoFile) {
    const auto& [name, spoil, flags, expected] = GetParam();
    spoil(folder_);
    const auto before = folder_.entries();
    auto words = arguments(flags);
    words.insert(words.end(), {"--device", "cpu"});
    const Outcome outcome = run_program("oflow", words);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(lines(outcome.error), SizeIs(1));
    EXPECT_THAT(outcome.error, StartsWith("oflow: error: "));
    EXPECT_THAT(outcome.error, HasSubstr(expected));
    EXPECT_EQ(folder_.entries(), before);
}

class UnwritableFlow : public ValidPair {};

TEST_F(UnwritableFlow, InAFolderWithoutPermission) {
    if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
    std::filesystem::create_directory(folder_ / "closed");
    std::filesystem::permissions(folder_ / "closed", std::filesystem::perms::owner_read);
    const Outcome outcome = run_program("oflow", arguments({"--out", "FOLDER/closed/a.flo"}));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("permission denied"));
}

TEST_F(UnwritableFlow, OnAFullDiskLeavesTheOldOne) {
    write_bytes(folder_ / "a.flo", "old");
    const auto before = folder_.entries();
    const Outcome outcome =
        run_program("oflow", arguments({"--device", "cpu"}), {.file_size_limit = 20'000});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(lines(outcome.error), SizeIs(1));
    EXPECT_THAT(outcome.error, HasSubstr("a.flo: cannot write"));
    EXPECT_EQ(folder_.entries(), before);
    EXPECT_EQ(read_bytes(folder_ / "a.flo"), "old");
}

TEST_F(UnwritableFlow, StandardOutputIsFull) {
    const Outcome outcome = run_program("oflow", arguments({}), {.stdout_full = true});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("standard output"));
}

}  // namespace
}  // namespace aperture::apps::tests
