// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Help, version and command lines that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aperture/core/report.hpp"
#include "tests/apps/program_run.hpp"

namespace aperture::apps::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(Help, OfStapNamesEveryFlagAndShowsAnExample) {
    const Outcome help = run_program("stap", {"--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.error, IsEmpty());
    for (const auto* flag :
         {"--cube",         "--dataset",  "--axes",    "--domain",         "--allow-nan",
          "--doppler-bins", "--taper",    "--tdof",    "--training-block", "--training",
          "--guard",        "--loading",  "--azimuth", "--solver",         "--precision",
          "--impl",         "--detector", "--pfa",     "--save",           "--plot",
          "--out",          "--device",   "--threads", "--repeat",         "--report",
          "--quiet",        "--version",  "Example:"}) {
        EXPECT_THAT(help.out, HasSubstr(flag));
    }
}

TEST(Help, OfStapSimNamesEveryFlagAndShowsAnExample) {
    const Outcome help = run_program("stap_sim", {"--help"});
    EXPECT_EQ(help.status, 0);
    for (const auto* flag : {"--perfect", "--clutter", "--channels", "--pulses", "--range-cells",
                             "--spacing", "--cnr", "--beta", "--motion", "--patches", "--jammer",
                             "--target", "--seed", "--out", "Example:"}) {
        EXPECT_THAT(help.out, HasSubstr(flag));
    }
}

TEST(Help, OfOflowNamesEveryFlagAndShowsAnExample) {
    const Outcome help = run_program("oflow", {"--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.error, IsEmpty());
    for (const auto* flag :
         {"images",          "--frames",         "--method",      "--preset",        "--alpha",
          "--window",        "--regularisation", "--levels",      "--scale",         "--warps",
          "--median",        "--blur",           "--texture",     "--interpolation", "--solver",
          "--iterations",    "--tolerance",      "--omega",       "--precondition",  "--s-step",
          "--basis",         "--boundary",       "--stencil",     "--no-picture",    "--max-motion",
          "--truth",         "--error-map",      "--max-error",   "--warped",        "--arrows",
          "--arrow-spacing", "--consistency",    "--convergence", "--out",           "--device",
          "--threads",       "--repeat",         "--report",      "--quiet",         "--version",
          "Example:"}) {
        EXPECT_THAT(help.out, HasSubstr(flag));
    }
}

TEST(Help, OfCorrNamesEveryFlagAndShowsAnExample) {
    const Outcome help = run_program("corr", {"--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.error, IsEmpty());
    for (const auto* flag :
         {"images", "--planes-from", "--normalize", "--offsets", "--signed", "--estimator",
          "--method", "--mask", "--radial", "--no-picture", "--strict", "--out", "--device",
          "--threads", "--repeat", "--report", "--quiet", "--version", "Example:"}) {
        EXPECT_THAT(help.out, HasSubstr(flag));
    }
}

TEST(Version, IsTheProjects) {
    for (const std::string program : {"corr", "oflow", "stap", "stap_sim"}) {
        const Outcome version = run_program(program, {"--version"});
        EXPECT_EQ(version.status, 0);
        EXPECT_THAT(version.out, StartsWith(program + " " + core::version()));
        EXPECT_THAT(lines(version.out), SizeIs(1));
    }
}

struct BadCommand {
    std::string name;
    std::string program;
    std::vector<std::string> arguments;
    std::string expected;
};
void PrintTo(const BadCommand& command, std::ostream* stream) { *stream << command.name; }

class RefusedCommand : public testing::TestWithParam<BadCommand> {};

const std::vector<std::string> scene{"--clutter", "--out", "/nonexistent/x.h5"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

const std::vector<std::string> cube{"--cube", "/nonexistent/cube.h5"};
const std::vector<std::string> pair{"/nonexistent/a.png", "/nonexistent/b.png"};

INSTANTIATE_TEST_SUITE_P(
    All, RefusedCommand,
    testing::Values(
        BadCommand{"flow_no_images", "oflow", {}, "images is required"},
        BadCommand{"flow_one_image",
                   "oflow",
                   {"/nonexistent/a.png", "--device", "cpu"},
                   "/nonexistent/a.png: no such file"},
        BadCommand{"flow_convergence_thrice", "oflow",
                   with(pair, {"--convergence", "a.csv", "--convergence", "a.png", "--convergence",
                               "b.png"}),
                   "--convergence: expected a table, a picture, or one of each"},
        BadCommand{"flow_convergence_name", "oflow", with(pair, {"--convergence", "a.txt"}),
                   "--convergence a.txt: expected FILE.csv or FILE.png"},
        BadCommand{"flow_unknown_flag", "oflow", with(pair, {"--frobnicate"}), "--frobnicate"},
        BadCommand{"flow_method", "oflow", with(pair, {"--method", "x"}),
                   "--method x: expected hs|lk"},
        BadCommand{"flow_preset", "oflow", with(pair, {"--preset", "x"}), "fast|accurate|thesis"},
        BadCommand{"flow_solver", "oflow", with(pair, {"--solver", "sor"}),
                   "--solver sor: expected jacobi|block2x2|cg|cacg|redblack|multigrid"},
        BadCommand{"flow_stencil", "oflow", with(pair, {"--stencil", "7"}), "5|9"},
        BadCommand{"flow_robust_boundary", "oflow",
                   with(pair, {"--preset", "accurate", "--boundary", "zero"}),
                   "a robust estimate needs"},
        BadCommand{"flow_alpha", "oflow", with(pair, {"--alpha", "-1"}), "alpha is -1"},
        BadCommand{"flow_alpha_word", "oflow", with(pair, {"--alpha", "much"}), "--alpha"},
        BadCommand{"flow_window", "oflow", with(pair, {"--method", "lk", "--window", "8"}),
                   "window is 8, expected an odd"},
        BadCommand{"flow_scale", "oflow", with(pair, {"--scale", "1"}), "scale is 1"},
        BadCommand{"flow_median", "oflow", with(pair, {"--median", "4"}), "median is 4"},
        BadCommand{"flow_blur", "oflow", with(pair, {"--blur", "-1"}), "blur is -1"},
        BadCommand{"flow_texture", "oflow", with(pair, {"--texture", "2"}), "texture is 2"},
        BadCommand{"flow_warps", "oflow", with(pair, {"--warps", "0"}), "--warps"},
        BadCommand{"flow_iterations", "oflow", with(pair, {"--iterations", "0"}), "--iterations"},
        BadCommand{"flow_tolerance", "oflow", with(pair, {"--tolerance", "-1"}), "tolerance"},
        BadCommand{"flow_omega", "oflow", with(pair, {"--solver", "redblack", "--omega", "2"}),
                   "relaxation is 2"},
        BadCommand{"flow_idle_alpha", "oflow", with(pair, {"--method", "lk", "--alpha", "3"}),
                   "--alpha has no meaning with --method lk"},
        BadCommand{"flow_idle_window", "oflow", with(pair, {"--window", "9"}),
                   "--window needs --method lk"},
        BadCommand{"flow_idle_omega", "oflow", with(pair, {"--solver", "cg", "--omega", "1.5"}),
                   "--omega needs --solver redblack"},
        BadCommand{"flow_idle_precondition", "oflow", with(pair, {"--precondition", "none"}),
                   "--precondition needs --solver cg"},
        BadCommand{"flow_idle_basis", "oflow", with(pair, {"--basis", "newton"}),
                   "--basis needs --solver cacg"},
        BadCommand{"flow_s_step", "oflow", with(pair, {"--solver", "cacg", "--s-step", "17"}),
                   "s-step is 17"},
        BadCommand{"flow_idle_convergence", "oflow",
                   with(pair, {"--method", "lk", "--convergence", "c.csv"}),
                   "--convergence needs --method hs"},
        BadCommand{"flow_error_map_alone", "oflow", with(pair, {"--error-map", "e.png"}),
                   "--error-map needs --truth"},
        BadCommand{"flow_max_error_alone", "oflow",
                   with(pair, {"--truth", "t.flo", "--max-error", "1"}),
                   "--max-error needs --error-map"},
        BadCommand{"flow_arrow_spacing_alone", "oflow", with(pair, {"--arrow-spacing", "9"}),
                   "--arrow-spacing needs --arrows"},
        BadCommand{"flow_max_motion_alone", "oflow",
                   with(pair, {"--no-picture", "--max-motion", "9"}), "--max-motion"},
        BadCommand{"flow_max_motion", "oflow", with(pair, {"--max-motion", "0"}), "--max-motion"},
        BadCommand{"flow_out", "oflow", with(pair, {"--out", "a.txt"}),
                   "--out a.txt: expected FILE.flo"},
        BadCommand{"flow_picture", "oflow", with(pair, {"--warped", "a.txt"}), "--warped a.txt: "},
        BadCommand{"flow_device", "oflow", with(pair, {"--device", "tpu"}), "auto|cpu|gpu"},
        BadCommand{"corr_no_images", "corr", {}, "no image and no --planes is named"},
        BadCommand{"corr_unknown_flag", "corr", with(pair, {"--frobnicate"}), "--frobnicate"},
        BadCommand{"corr_planes", "corr", with(pair, {"--planes-from", "x"}),
                   "--planes-from x: expected lab-orientation|grey|gray|rgb|gradient"},
        BadCommand{"corr_normalize", "corr", with(pair, {"--normalize", "x"}), "plane|none"},
        BadCommand{"corr_offsets", "corr", with(pair, {"--offsets", "250"}),
                   "--offsets 250: expected HxW"},
        BadCommand{"corr_offsets_zero", "corr", with(pair, {"--offsets", "0x5"}),
                   "--offsets 0x5: expected HxW"},
        BadCommand{"corr_offsets_three", "corr", with(pair, {"--offsets", "5x5x5"}),
                   "--offsets 5x5x5: expected HxW"},
        BadCommand{"corr_offsets_negative", "corr", with(pair, {"--offsets", "5x-5"}),
                   "--offsets 5x-5: expected HxW"},
        BadCommand{"corr_offsets_huge", "corr", with(pair, {"--offsets", "5x99999999999999999999"}),
                   "expected HxW"},
        BadCommand{"corr_estimator", "corr", with(pair, {"--estimator", "x"}),
                   "raw|unbiased|pearson"},
        BadCommand{"corr_method", "corr", with(pair, {"--method", "x"}), "auto|direct|fft"},
        BadCommand{"corr_out", "corr", with(pair, {"--out", "a.png"}),
                   "--out a.png: expected FILE.h5"},
        BadCommand{"corr_radial", "corr", with(pair, {"--radial", "a.txt"}),
                   "--radial a.txt: expected FILE.csv"},
        BadCommand{"corr_masks",
                   "corr",
                   {"/nonexistent/a.png", "--mask", "m.png", "--mask", "n.png"},
                   "--mask: 2 masks, but one is for all images"},
        BadCommand{"corr_strict_pair", "corr", with(pair, {"--strict"}),
                   "--strict needs an ensemble"},
        BadCommand{"corr_repeat_ensemble", "corr", with(pair, {"c.png", "--repeat", "3"}),
                   "--repeat needs a single image or a pair"},
        BadCommand{"no_cube", "stap", {}, "--cube is required"},
        BadCommand{"unknown_flag", "stap", with(cube, {"--frobnicate"}), "--frobnicate"},
        BadCommand{"stray_word", "stap", with(cube, {"stray"}), "stray"},
        BadCommand{"training", "stap", with(cube, {"--training", "none"}), "block|sliding|all"},
        BadCommand{"solver", "stap", with(cube, {"--solver", "lu"}), "cholesky|gauss-jordan"},
        BadCommand{"detector", "stap", with(cube, {"--detector", "x"}), "none|amf|ace|glrt|cfar"},
        BadCommand{"impl", "stap", with(cube, {"--impl", "x"}), "fused|staged|cublas"},
        BadCommand{"precision", "stap", with(cube, {"--precision", "fp16"}), "fp32|mixed"},
        BadCommand{"device", "stap", with(cube, {"--device", "tpu"}), "auto|cpu|gpu"},
        BadCommand{"domain", "stap", with(cube, {"--domain", "time"}), "pulse|doppler"},
        BadCommand{"taper", "stap", with(cube, {"--taper", "kaiser"}), "kaiser"},
        BadCommand{"loading", "stap", with(cube, {"--loading", "much"}), "--loading"},
        BadCommand{"azimuth", "stap", with(cube, {"--azimuth", "left"}), "--azimuth"},
        BadCommand{"tdof", "stap", with(cube, {"--tdof", "2"}), "--tdof"},
        BadCommand{"block", "stap", with(cube, {"--training-block", "0"}), "--training-block"},
        BadCommand{"repeat", "stap", with(cube, {"--repeat", "0"}), "--repeat"},
        BadCommand{"threads", "stap", with(cube, {"--threads", "-1"}), "--threads"},
        BadCommand{"save", "stap", with(cube, {"--save", "everything"}), "--save everything"},
        BadCommand{"pfa_alone", "stap", with(cube, {"--pfa", "1e-3"}), "--pfa needs a detector"},
        BadCommand{"pfa_range", "stap", with(cube, {"--detector", "amf", "--pfa", "2"}),
                   "--pfa 2: expected a probability"},
        BadCommand{"weights_of_all", "stap", with(cube, {"--training", "all", "--save", "weights"}),
                   "/nonexistent/cube.h5"},
        BadCommand{"sim_nothing", "stap_sim", {"--out", "x.h5"}, "--perfect small|medium|large"},
        BadCommand{"sim_no_out", "stap_sim", {"--clutter"}, "--out is required"},
        BadCommand{"sim_size", "stap_sim", {"--perfect", "huge", "--out", "x.h5"}, "huge"},
        BadCommand{"sim_target", "stap_sim", with(scene, {"--target", "5"}), "--target 5"},
        BadCommand{"sim_jammer", "stap_sim", with(scene, {"--jammer", "5"}), "--jammer 5"},
        BadCommand{"sim_far_target", "stap_sim",
                   with(scene, {"--range-cells", "100", "--target", "100:0:0:0"}),
                   "--target range cell 100: the cube has 100"},
        BadCommand{"sim_target_alone",
                   "stap_sim",
                   {"--perfect", "small", "--target", "1:0:0:0", "--out", "x.h5"},
                   "requires --clutter"},
        BadCommand{"sim_two_shapes",
                   "stap_sim",
                   {"--perfect", "small", "--channels", "3", "--out", "x.h5"},
                   "--perfect excludes --channels"},
        BadCommand{"sim_folder", "stap_sim", scene, "/nonexistent/x.h5"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedCommand, SaysWhyInOneLine) {
    const auto& [name, program, arguments, expected] = GetParam();
    const Outcome outcome = run_program(program, arguments);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(lines(outcome.error), SizeIs(1));
    EXPECT_THAT(outcome.error, StartsWith(program + ": error: "));
    EXPECT_THAT(outcome.error, HasSubstr(expected));
}

}  // namespace
}  // namespace aperture::apps::tests
