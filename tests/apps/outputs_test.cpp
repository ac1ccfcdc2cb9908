// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Rules for the files of every program: no output replaces an input or another output, missing
// folders are created, results are not read as inputs, and all outputs of a run appear together.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/common/file_names.hpp"
#include "tests/apps/program_inputs.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using ProgramOutputs = ProgramInputs;

struct Call {
    std::string name;
    std::string program;
    std::vector<std::string> arguments;
    std::vector<std::string> written;
    std::vector<std::string> refused;  ///< arguments that make the command line invalid
};
void PrintTo(const Call& call, std::ostream* stream) { *stream << call.name; }

class NewFolders : public ProgramOutputs, public testing::WithParamInterface<Call> {};

INSTANTIATE_TEST_SUITE_P(
    All, NewFolders,
    testing::Values(
        Call{"stap",
             "stap",
             {"--cube", "FOLDER/c.h5", "--out", "FOLDER/n1/r.h5", "--report", "FOLDER/n2/r.json",
              "--plot", "FOLDER/n3/p.svg", "--loading", "rel:1e-2"},
             {"n1/r.h5", "n2/r.json", "n3/p.svg"},
             {"--training-block", "101"}},
        Call{"stap_sim",
             "stap_sim",
             {"--clutter", "--channels", "2", "--pulses", "4", "--range-cells", "20", "--out",
              "FOLDER/n1/n2/s.h5"},
             {"n1/n2/s.h5"},
             {"--target", "20:0:0:0"}},
        Call{"oflow",
             "oflow",
             {"FOLDER/V/0.pgm", "FOLDER/V/1.pgm", "--out", "FOLDER/n1/x.flo", "--warped",
              "FOLDER/n2/w.ppm", "--report", "FOLDER/n3/r.json", "--no-picture"},
             {"n1/x.flo", "n2/w.ppm", "n3/r.json"},
             {"--truth", "FOLDER/V/0.pgm"}},
        Call{"oflow_sequence",
             "oflow",
             {"FOLDER/V", "--out", "FOLDER/n1/n2", "--no-picture", "--report", "FOLDER/n3/r.json"},
             {"n1/n2/000002.flo", "n3/r.json"},
             {"--frames", "1:2"}},
        Call{"corr",
             "corr",
             {"FOLDER/V/0.pgm", "--out", "FOLDER/n1/c.h5", "--no-picture", "--radial",
              "FOLDER/n2/r.csv", "--report", "FOLDER/n3/r.json"},
             {"n1/c.h5", "n2/r.csv", "n2/r.spectrum.csv", "n3/r.json"},
             {"--offsets", "99x99"}},
        Call{"bgsub_prefix",
             "bgsub",
             {"FOLDER/V", "--out", "FOLDER/n1/v", "--out-format", "npy", "--report",
              "FOLDER/n2/r.json"},
             {"n1/v.overlay.npy", "n1/v.mask.npy", "n2/r.json"},
             {"--truth", "FOLDER/V"}},
        Call{"bgsub_folder",
             "bgsub",
             {"FOLDER/V", "--out", "FOLDER/n1/", "--out-format", "h5"},
             {"n1/bgsub.h5"},
             {"--truth", "FOLDER/V"}},
        Call{"bgsub_pictures",
             "bgsub",
             {"FOLDER/V", "--out", "FOLDER/n1/v", "--out-format", "png"},
             {},
             {"--truth", "FOLDER/V"}}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(NewFolders, AreMadeForOutputsAndNotForARefusedRun) {
    if (GetParam().name == "stap" && !have_figures) GTEST_SKIP() << "built without Cairo";
    const auto before = folder_.entries();
    const Outcome refused =
        run(GetParam().program, joined(GetParam().arguments, GetParam().refused));
    EXPECT_EQ(refused.status, 1) << refused.error;
    EXPECT_EQ(folder_.entries(), before);
    const Outcome outcome = run(GetParam().program, GetParam().arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    for (const std::string& file : GetParam().written) {
        EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / file)) << file;
    }
    EXPECT_GT(folder_.entries().size(), before.size());
}

TEST_F(ProgramOutputs, AreNoInputsOfTheNextRun) {
    const std::string picture = std::string("w") + picture_extension;
    ASSERT_EQ(run("oflow", {"FOLDER/V/0.pgm", "FOLDER/V/1.pgm", "--no-picture", "--warped",
                            "FOLDER/V/" + picture})
                  .status,
              0);
    EXPECT_THAT(folder_.entries("V"), testing::Contains(picture));
    const std::string left_out = ": skipped 1 file written by these programs (" + picture + ")";
    const Outcome flow = run("oflow", {"FOLDER/V", "--out", "FOLDER/z", "--no-picture"});
    EXPECT_EQ(flow.status, 0) << flow.error;
    EXPECT_THAT(flow.out, HasSubstr("4 frames"));
    EXPECT_THAT(lines(flow.error), testing::Contains(HasSubstr(left_out)));
    for (int i = 0; i < 2; ++i) {
        const Outcome outcome = run("bgsub", {"FOLDER/V", "--out-format", "npy"});
        EXPECT_THAT(outcome.out, HasSubstr("4 frames"));
        EXPECT_THAT(lines(outcome.error), testing::Contains(HasSubstr(left_out)));
    }
}

TEST_F(ProgramOutputs, AreNoInputsByAPattern) {
    const Outcome first = run("corr", {"FOLDER/V/*", "--out", "FOLDER/V/x.h5"});
    EXPECT_THAT(first.error, IsEmpty());
    // The folder now also holds the HDF5 file, its picture and a table.
    media::tests::write_bytes(folder_ / "V/table.csv", "a,b");
    const Outcome second =
        run("corr", {"FOLDER/V/*", "--out", "FOLDER/V/x.h5", "--strict", "--quiet"});
    EXPECT_EQ(second.status, 0) << second.error;
    EXPECT_THAT(second.error, IsEmpty());
    const Outcome third = run("corr", {"FOLDER/V/*", "--out", "FOLDER/V/x.h5"});
    EXPECT_THAT(third.error,
                HasSubstr(core::text("skipped ", have_figures ? 3 : 2, " files written")));
    EXPECT_THAT(third.out, HasSubstr("4 images"));
}

TEST_F(ProgramOutputs, AreTakenWhereTheyAreNamed) {
    ASSERT_EQ(
        run("oflow", {"FOLDER/V/0.pgm", "FOLDER/V/1.pgm", "--out", "FOLDER/r/x.flo", "--warped",
                      "FOLDER/r/w.ppm", "--consistency", "FOLDER/r/a.ppm", "--no-picture"})
            .status,
        0);
    const Outcome named = run("corr", {"FOLDER/r/w.ppm", "FOLDER/r/a.ppm", "--no-picture"});
    EXPECT_EQ(named.status, 0) << named.error;
    EXPECT_THAT(named.error, IsEmpty());
    const Outcome folder = run("corr", {"FOLDER/r"});
    EXPECT_EQ(folder.status, 1);
    EXPECT_THAT(folder.error, HasSubstr("r: skipped 2 files written by these programs"));
    EXPECT_THAT(folder.error, HasSubstr("no other file found"));
}

// The flow and the picture fit under the limit, the report or a mask does not: no file appears.
TEST_F(ProgramOutputs, OfAPairAppearTogether) {
    const Outcome outcome =
        run("oflow",
            {"FOLDER/V/0.pgm", "FOLDER/V/1.pgm", "--convergence", "FOLDER/t.csv", "--iterations",
             "9000", "--tolerance", "0", "--warps", "1", "--levels", "1"},
            {.file_size_limit = 100'000});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("t.csv: cannot write: file too large"));
    EXPECT_THAT(folder_.entries(), ElementsAre("V", "c.h5"));
    EXPECT_THAT(folder_.entries("V"), ElementsAre("0.pgm", "1.pgm", "2.pgm", "3.pgm"));
}

TEST_F(ProgramOutputs, OfASequenceAppearPairByPair) {
    media::tests::write_bytes(folder_ / "V/3.pgm", "no image");
    const Outcome outcome =
        run("oflow", {"FOLDER/V", "--out", "FOLDER/z", "--no-picture", "--warped", "FOLDER/w"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(lines(outcome.error), SizeIs(1));
    EXPECT_THAT(outcome.error, HasSubstr("; the files of 2 pairs are in "));
    EXPECT_THAT(folder_.entries("z"), ElementsAre("000000.flo", "000001.flo"));
    EXPECT_THAT(folder_.entries("w"), SizeIs(2));
}

TEST_F(ProgramOutputs, HaveReportsWhateverTheNames) {
    const std::string odd = "caf\xe9";
    std::filesystem::rename(folder_ / "c.h5", folder_ / (odd + ".h5"));
    std::filesystem::rename(folder_ / "V", folder_ / odd);
    const std::string frames = "FOLDER/" + odd;
    const std::vector<std::pair<std::string, std::vector<std::string>>> calls{
        {"stap", {"--cube", "FOLDER/" + odd + ".h5", "--loading", "rel:1e-2"}},
        {"oflow", {frames + "/0.pgm", frames + "/1.pgm", "--no-picture"}},
        {"oflow", {frames, "--no-picture"}},
        {"corr", {frames + "/0.pgm"}},
        {"corr", {frames}},
        {"bgsub", {frames, "--out-format", "h5"}}};
    for (const auto& [program, arguments] : calls) {
        const Outcome outcome = run(program, joined(arguments, {"--report", "FOLDER/r.json"}));
        EXPECT_EQ(outcome.status, 0) << program << outcome.error;
        const std::string text = read_bytes(folder_ / "r.json");
        EXPECT_THAT(text, HasSubstr("caf\xef\xbf\xbd"));
        EXPECT_THAT(text, testing::EndsWith("\n}\n"));
        const auto report = nlohmann::json::parse(text);
        for (const auto& stage : report["stages"]) {
            if (stage["name"] == "read") {
                EXPECT_TRUE(stage["gflop"].is_null()) << program;
            }
        }
        for (const char* const count : {"frames", "pairs", "images", "skipped", "warm_starts"}) {
            if (!report["results"].contains(count)) continue;
            EXPECT_TRUE(report["results"][count].is_number_integer()) << program << ' ' << count;
        }
        std::filesystem::remove(folder_ / "r.json");
    }
}

#if APERTURE_OPENCV

TEST_F(ProgramOutputs, OfAVideoAppearTogether) {
    std::filesystem::create_directory(folder_ / "noise");
    for (int i = 0; i < 6; ++i) {
        std::string bytes = "P5 256 192 255\n";
        std::minstd_rand noise(static_cast<unsigned>(i) + 1);
        for (int pixel = 0; pixel < 256 * 192; ++pixel) bytes += static_cast<char>(noise() >> 8);
        media::tests::write_bytes(folder_ / ("noise/" + std::to_string(i) + ".pgm"), bytes);
    }
    const std::vector<std::string> arguments{"FOLDER/noise", "--save", "background,mask,overlay",
                                             "--max-iterations", "3"};
    ASSERT_EQ(run("bgsub", joined(arguments, {"--out", "FOLDER/all"})).status, 0);
    const auto bytes = [&](const char* name) { return std::filesystem::file_size(folder_ / name); };
    const auto sizes = {bytes("all.background.mp4"), bytes("all.mask.mkv"),
                        bytes("all.overlay.mp4")};
    // The limit admits the smallest file but not the largest.
    const auto least = std::min(sizes);
    const auto most = std::max(sizes);
    ASSERT_LT(least, most);
    const auto before = folder_.entries();
    const Outcome outcome = run("bgsub", joined(arguments, {"--out", "FOLDER/some"}),
                                {.file_size_limit = (least + most) / 2});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("mp4: cannot write: file too large"));
    EXPECT_EQ(folder_.entries(), before);
}

#endif

}  // namespace
}  // namespace aperture::apps::tests
