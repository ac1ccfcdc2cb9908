// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// oflow as a user runs it on valid images: what it writes, prints and reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aperture/core/executor.hpp"
#include "aperture/media/image_file.hpp"
#include "apps/common/file_names.hpp"
#include "tests/apps/oflow_program.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/shared_data.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using core::index_t;
using media::tests::read_bytes;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(Oflow, AloneWritesBesideTheFirstImageAndPrintsASummary) {
    write_pair();
    const std::string before = read_bytes(image0());
    const Outcome outcome = run({});
    std::vector<std::string> files{"a.flo", "a.pgm", "b.pgm"};
    if (have_figures) files.insert(files.begin() + 1, "a.flow.png");
    EXPECT_EQ(folder_.entries(), files);
    EXPECT_EQ(read_bytes(image0()), before);
    EXPECT_THAT(lines(outcome.out),
                ElementsAre(AllOf(StartsWith("images"), HasSubstr("a.pgm"), HasSubstr("b.pgm"),
                                  HasSubstr("96x72 pixels, 8 bits grey")),
                            AllOf(StartsWith("device"), HasSubstr("thread")),
                            AllOf(StartsWith("method"), HasSubstr("preset fast"),
                                  HasSubstr("levels"), HasSubstr("warps"), HasSubstr("redblack")),
                            AllOf(StartsWith("stages"), HasSubstr("read"), HasSubstr("pyramid"),
                                  HasSubstr("warp"), HasSubstr("derivatives"), HasSubstr("solve"),
                                  HasSubstr("median"), HasSubstr("write")),
                            AllOf(StartsWith("compute"), HasSubstr("Mpixel/s")),
                            AllOf(StartsWith("motion"),
                                  HasSubstr(have_figures ? "full saturation at" : "largest")),
                            AllOf(StartsWith("result"), HasSubstr("a.flo"))));
    const auto flow = media::read_flow(folder_ / "a.flo");
    EXPECT_EQ(flow.extent(), (core::Extents<3>{2, 72, 96}));
    EXPECT_EQ(read_bytes(folder_ / "a.flo").size(), 12U + 8U * 72 * 96);
    expect_shift(flow);
}

TEST_F(Oflow, OfIdenticalImagesIsExactlyZero) {
    write_pair({}, 0, 0);
    EXPECT_THAT(run({"--no-picture"}).out, HasSubstr("largest 0 pixels"));
    const auto flow = media::read_flow(folder_ / "a.flo");
    EXPECT_THAT(std::vector<float>(flow.begin(), flow.end()), Each(0.0F));
}

TEST_F(Oflow, OnTheGpuAgreesWithTheCpu) {
    if (!core::gpu_status().usable) GTEST_SKIP() << "no GPU: " << core::gpu_status().reason;
    write_pair();
    const auto flow_of_run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {image0(), image1(), "--no-picture"});
        const Outcome outcome = run_program("oflow", words);
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        return media::read_flow(folder_ / "a.flo");
    };
    const core::Array<float, 3> expected = flow_of_run({"--device", "cpu"});
    for (const char* how : {"fused", "staged"}) {
        const core::Array<float, 3> flow = flow_of_run({"--device", "gpu", "--impl", how});
        for (core::index_t i = 0; i < flow.size(); ++i) {
            ASSERT_NEAR(flow.data()[i], expected.data()[i], 5e-3) << how;
        }
    }
}

TEST_F(Oflow, SaysWhereTheGpuTakesCgForCommunicationAvoidingCg) {
    if (!core::gpu_status().usable) GTEST_SKIP() << "no GPU: " << core::gpu_status().reason;
    write_pair();
    const auto outcome_of = [&](const char* s_step) {
        return run_program("oflow", {image0(), image1(), "--device", "gpu", "--solver", "cacg",
                                     "--s-step", s_step, "--report", folder_ / "report.json"});
    };
    const auto parameters = [&] { return read_json(folder_ / "report.json")["parameters"]; };
    EXPECT_THAT(outcome_of("4").error, Not(HasSubstr("solver: ")));
    EXPECT_FALSE(parameters().contains("finest_level_solver"));
    EXPECT_THAT(outcome_of("16").error, HasSubstr("solver: cg on the finest level"));
    EXPECT_EQ(parameters()["solver"], "cacg");
    EXPECT_EQ(parameters()["finest_level_solver"], "cg");
}

struct Variant {
    std::string name;
    std::vector<std::string> flags;
};
void PrintTo(const Variant& variant, std::ostream* stream) { *stream << variant.name; }

class OflowVariant : public Oflow, public testing::WithParamInterface<Variant> {};

INSTANTIATE_TEST_SUITE_P(
    All, OflowVariant,
    testing::Values(
        Variant{"lucas_kanade", {"--method", "lk"}}, Variant{"thesis", {"--preset", "thesis"}},
        Variant{"accurate", {"--preset", "accurate"}},
        Variant{"accurate_lucas_kanade", {"--preset", "accurate", "--method", "lk"}},
        Variant{"accurate_multigrid", {"--preset", "accurate", "--solver", "multigrid"}},
        Variant{"thesis_lucas_kanade", {"--preset", "thesis", "--method", "lk"}},
        Variant{"window", {"--method", "lk", "--lk-window", "13", "--regularisation", "0.5"}},
        Variant{"jacobi", {"--solver", "jacobi"}}, Variant{"block2x2", {"--solver", "block2x2"}},
        Variant{"cg", {"--solver", "cg"}},
        Variant{"cg_plain", {"--solver", "cg", "--precondition", "none"}},
        Variant{"cacg", {"--solver", "cacg", "--s-step", "8", "--basis", "chebyshev"}},
        Variant{"redblack", {"--solver", "redblack", "--omega", "1.7", "--iterations", "40"}},
        Variant{"thesis_multigrid", {"--preset", "thesis", "--solver", "multigrid"}},
        Variant{"tolerance", {"--solver", "cg", "--tolerance", "1e-3"}},
        Variant{"boundary", {"--boundary", "zero"}},
        Variant{"stencil", {"--stencil", "9", "--solver", "redblack"}},
        Variant{"pyramid",
                {"--levels", "2", "--level-scale", "0.7", "--warps", "8", "--median", "3"}},
        Variant{"bilinear", {"--interpolation", "bilinear", "--median", "0"}},
        Variant{"texture", {"--texture", "0.9", "--alpha", "3"}},
        Variant{"sharp", {"--blur", "0", "--median", "5"}}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(OflowVariant, FindsTheShift) {
    write_pair();
    expect_shift(flow_of(GetParam().flags));
}

struct Input {
    std::string name;
    StoredPicture stored;
    std::string shown;
};
void PrintTo(const Input& input, std::ostream* stream) { *stream << input.name; }

class OflowInput : public Oflow, public testing::WithParamInterface<Input> {};

INSTANTIATE_TEST_SUITE_P(
    All, OflowInput,
    testing::Values(Input{"colour", {.colour = true}, "96x72 pixels, 8 bits colour"},
                    Input{"bits_16", {.bits = 16}, "96x72 pixels, 16 bits grey"},
                    Input{"bits_16_colour", {.colour = true, .bits = 16}, "16 bits colour"},
                    Input{"odd_size", {.width = 101, .height = 67}, "101x67 pixels"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(OflowInput, IsUnderstood) {
    write_pair(GetParam().stored);
    const Outcome outcome = run({"--warped", picture("warped")});
    EXPECT_THAT(outcome.out, HasSubstr(GetParam().shown));
    expect_shift(media::read_flow(folder_ / "a.flo"));
    const auto warped = media::read_image(picture("warped"));
    const auto first = media::read_image(image0());
    // Without OpenCV, grey pictures are written in colour.
    const index_t channels = APERTURE_OPENCV ? first.planes.extent()[0] : 3;
    EXPECT_EQ(warped.planes.extent(),
              (core::Extents<3>{channels, first.planes.extent()[1], first.planes.extent()[2]}));
    for (index_t y = 10; y < first.planes.extent()[1] - 10; ++y) {
        for (index_t x = 10; x < first.planes.extent()[2] - 10; ++x) {
            ASSERT_NEAR(warped.planes(0, y, x), first.planes(0, y, x), 8) << y << ", " << x;
        }
    }
}

TEST_F(Oflow, TakesImagesOfOneRowOrColumnOrPixel) {
    for (const auto& [width, height] : {std::pair(40, 1), std::pair(1, 40), std::pair(1, 1)}) {
        write_pair({.width = width, .height = height});
        run({"--warped", picture("warped"), "--consistency", picture("mask")});
        EXPECT_EQ(media::read_flow(folder_ / "a.flo").extent(),
                  (core::Extents<3>{2, height, width}));
    }
}

TEST_F(Oflow, WritesKittisFormat) {
    if (!APERTURE_OPENCV) GTEST_SKIP() << "built without OpenCV";
    write_pair();
    run({"--out", folder_ / "out.png"});
    EXPECT_THAT(folder_.entries(), testing::Contains("out.png"));
    expect_shift(media::read_flow(folder_ / "out.png"));
}

TEST_F(Oflow, ReadsPng) {
    if (!APERTURE_OPENCV) GTEST_SKIP() << "built without OpenCV";
    write_pair({.colour = true});
    for (const std::string name : {"a", "b"}) {
        const auto image = media::read_image(folder_ / (name + ".pgm"));
        media::write_picture(folder_ / (name + ".png"), media::to_picture(image.planes));
    }
    const Outcome outcome =
        run_program("oflow", {folder_ / "a.png", folder_ / "b.png", "--no-picture"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    expect_shift(media::read_flow(folder_ / "a.flo"));
}

TEST_F(Oflow, LeavesOutThePicture) {
    write_pair();
    const Outcome outcome = run({"--no-picture"});
    EXPECT_THAT(folder_.entries(), ElementsAre("a.flo", "a.pgm", "b.pgm"));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("saturation")));
}

TEST_F(Oflow, ComparesWithTheTruth) {
    write_pair();
    write_constant_flo(folder_ / "truth.flo", 96, 72, shift_u, shift_v);
    const auto report = report_of({"--truth", folder_ / "truth.flo"});
    EXPECT_LT(report["accuracy"]["epe"], 0.15);
    EXPECT_LT(report["accuracy"]["epe"], report["accuracy"]["rmse"]);
    EXPECT_LT(report["accuracy"]["aae"], 5);
    EXPECT_LE(report["accuracy"]["r2"], report["accuracy"]["r1"]);
    EXPECT_LE(report["accuracy"]["r1"], report["accuracy"]["r05"]);
    const Outcome outcome = run({"--truth", folder_ / "truth.flo"});
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("AAE "), HasSubstr(" degrees, EPE "),
                                   HasSubstr("of 6912 known pixels")));
}

TEST_F(Oflow, CountsErrorsInPercent) {
    write_pair({}, 0, 0);
    write_constant_flo(folder_ / "truth.flo", 96, 72, 0.6F, 0.8F);
    const auto accuracy = report_of({"--truth", folder_ / "truth.flo"})["accuracy"];
    EXPECT_NEAR(accuracy["epe"], 1, 1e-6);
    EXPECT_NEAR(accuracy["rmse"], 1, 1e-6);
    EXPECT_NEAR(accuracy["aae"], 45, 1e-4);
    EXPECT_EQ(accuracy["r05"], 100);
    EXPECT_EQ(accuracy["r2"], 0);
}

TEST_F(Oflow, SaysThatATruthIsUnknown) {
    write_pair();
    write_constant_flo(folder_ / "truth.flo", 96, 72, 1.67e9F, 1.67e9F);
    const auto report = report_of({"--truth", folder_ / "truth.flo"});
    EXPECT_TRUE(report["accuracy"]["epe"].is_null());
    EXPECT_THAT(run({"--truth", folder_ / "truth.flo"}).out,
                HasSubstr("the truth is unknown at every pixel"));
}

TEST_F(Oflow, ChecksTheWayBack) {
    write_pair();
    const auto report = report_of({"--consistency", picture("mask")});
    EXPECT_GT(report["results"]["consistent"], 90);
    EXPECT_LT(report["results"]["consistent"], 100);
    const auto mask = media::read_image(picture("mask"));
    EXPECT_EQ(mask.planes(0, 36, 48), 255);
    // The last columns move out of the image.
    EXPECT_EQ(mask.planes(0, 36, 95), 0);
    std::vector<float> values(mask.planes.begin(), mask.planes.end());
    const auto white = std::count(values.begin(), values.end(), 255.0F);
    EXPECT_EQ(white + std::count(values.begin(), values.end(), 0.0F),
              static_cast<std::ptrdiff_t>(values.size()));
    EXPECT_NEAR(100.0 * static_cast<double>(white) / static_cast<double>(values.size()),
                report["results"]["consistent"], 1e-9);
}

TEST_F(Oflow, TabulatesTheConvergence) {
    write_pair();
    const auto report = report_of(
        {"--solver", "cg", "--iterations", "30", "--convergence", folder_ / "convergence.csv"});
    const auto table = lines(read_bytes(folder_ / "convergence.csv"));
    ASSERT_THAT(table, SizeIs(32));
    EXPECT_EQ(table[0], "iteration,residual");
    EXPECT_THAT(table[1], StartsWith("0,"));
    EXPECT_THAT(table[31], StartsWith("30,"));
    EXPECT_LT(std::stod(table[31].substr(3)), std::stod(table[1].substr(2)));
    EXPECT_EQ(report["results"]["iterations"], 30);
    EXPECT_NEAR(report["results"]["residual"], std::stod(table[31].substr(3)), 1e-7);
}

TEST_F(Oflow, FindsTheSameHoweverOftenAndOnHoweverManyThreads) {
    write_pair();
    flow_of({"--threads", "1"});
    const std::string once = read_bytes(folder_ / "a.flo");
    flow_of({"--threads", "3", "--repeat", "2", "--convergence", folder_ / "convergence.csv"});
    EXPECT_EQ(read_bytes(folder_ / "a.flo"), once);
}

TEST_F(Oflow, Takes6GigabytesAtMostFor7680x4320Pixels) {
#if defined(APERTURE_SANITIZE)
    GTEST_SKIP() << "sanitizers take memory of their own";
#endif
    write_pair();
    const std::int64_t program = run({}).peak_bytes;
    constexpr std::int64_t width = 1280;
    constexpr std::int64_t height = 720;
    write_pair({.width = width, .height = height});
    using Flags = std::vector<std::string>;
    for (const Flags& flags :
         {Flags{}, Flags{"--method", "lk"}, Flags{"--preset", "thesis"},
          Flags{"--solver", "multigrid"}, Flags{"--consistency", picture("mask")}}) {
        const std::int64_t pixels = run(flags).peak_bytes - program;
        EXPECT_LT(pixels * (7680 * 4320 / (width * height)), 6'000'000'000)
            << testing::PrintToString(flags);
    }
}

TEST_F(Oflow, ReportsEveryStageAndParameter) {
    write_pair();
    const auto report = report_of({"--repeat", "3", "--threads", "2", "--alpha", "6", "--quiet"});
    EXPECT_EQ(report["program"], "oflow");
    EXPECT_EQ(report["device"]["threads"], 2);
    std::vector<std::string> names;
    for (const auto& stage : report["stages"]) {
        names.push_back(stage["name"]);
        EXPECT_GE(stage["ms"], 0);
    }
    EXPECT_THAT(names,
                ElementsAre("read", "pyramid", "warp", "derivatives", "solve", "median", "write"));
    EXPECT_GT(report["compute_ms"], 0);
    EXPECT_GE(report["total_ms"], report["compute_ms"]);
    EXPECT_EQ(report["transfer_ms"], 0);
    EXPECT_THAT(report["accuracy"], IsEmpty());
    const auto& parameters = report["parameters"];
    EXPECT_EQ(parameters["method"], "hs");
    EXPECT_EQ(parameters["preset"], "fast");
    EXPECT_EQ(parameters["alpha"], 6);
    EXPECT_EQ(parameters["solver"], "redblack");
    EXPECT_EQ(parameters["iterations"], 8);
    EXPECT_EQ(parameters["omega"], 1.8);
    EXPECT_EQ(parameters["width"], 96);
    EXPECT_EQ(parameters["height"], 72);
    EXPECT_EQ(parameters["levels"], 3);
    EXPECT_EQ(parameters["stencil"], 5);
    EXPECT_FALSE(parameters.contains("lk_window"));
    EXPECT_FALSE(parameters.contains("basis"));
}

TEST_F(Oflow, ReportsOnlyWhatLucasKanadeUses) {
    write_pair();
    const auto parameters = report_of({"--method", "lk", "--lk-window", "7"})["parameters"];
    EXPECT_EQ(parameters["lk_window"], 7);
    EXPECT_TRUE(parameters.contains("regularisation"));
    EXPECT_FALSE(parameters.contains("alpha"));
    EXPECT_FALSE(parameters.contains("solver"));
}

TEST_F(Oflow, GivesAnotherSolverItsOwnNumberOfIterations) {
    write_pair();
    const auto iterations = [&](const std::vector<std::string>& flags) {
        return report_of(flags)["parameters"]["iterations"].get<int>();
    };
    EXPECT_EQ(iterations({"--solver", "cg"}), 100);
    EXPECT_EQ(iterations({"--preset", "thesis"}), 400);
    EXPECT_EQ(iterations({"--preset", "thesis", "--solver", "cg"}), 400);
    EXPECT_EQ(iterations({"--preset", "thesis", "--solver", "multigrid"}), 1);
    EXPECT_EQ(iterations({"--solver", "cg", "--iterations", "7"}), 7);
}

TEST_F(Oflow, ReplacesItsOwnOldResults) {
    write_pair();
    media::tests::write_bytes(folder_ / "a.flo", "old");
    expect_shift(flow_of({}));
}

TEST(OflowOnMeasuredImages, IsCloseToTheTruthOfRubberWhale) {
    const std::string folder = "middlebury/RubberWhale/";
    const auto image0 = aperture::tests::shared_data(folder + "frame10.png");
    const auto image1 = aperture::tests::shared_data(folder + "frame11.png");
    const auto truth = aperture::tests::shared_data(folder + "flow10.flo");
    if (!APERTURE_OPENCV || !image0 || !image1 || !truth) {
        GTEST_SKIP() << "measured images are not here (APERTURE_DATA names their folder)";
    }
    const aperture::tests::TemporaryFolder out;
    const Outcome outcome = run_program("oflow", {*image0, *image1, "--truth", *truth, "--out",
                                                  out / "a.flo", "--report", out / "a.json"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const auto report = read_json(out / "a.json");
    EXPECT_LT(report["accuracy"]["epe"], 0.3);
}

}  // namespace
}  // namespace aperture::apps::tests
