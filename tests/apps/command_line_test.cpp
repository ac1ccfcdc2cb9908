// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Help, version and invalid command lines.
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

const std::vector<std::string> scene{"--clutter", "--out", "/dev/null/x.h5"};

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
        BadCommand{"flow_unknown_alone", "oflow", {"--bogus"}, "not expected: --bogus"},
        BadCommand{"bgsub_unknown_alone", "bgsub", {"--bogus"}, "not expected: --bogus"},
        BadCommand{"corr_unknown_alone", "corr", {"--bogus"}, "not expected: --bogus"},
        BadCommand{"stap_unknown_alone", "stap", {"--bogus"}, "not expected: --bogus"},
        BadCommand{"sim_unknown_alone", "stap_sim", {"--bogus"}, "not expected: --bogus"},
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
                   "a robust estimate requires"},
        BadCommand{"flow_alpha", "oflow", with(pair, {"--alpha", "-1"}), "--alpha -1: expected"},
        BadCommand{"flow_alpha_word", "oflow", with(pair, {"--alpha", "much"}), "--alpha"},
        BadCommand{"flow_window", "oflow", with(pair, {"--method", "lk", "--window", "8"}),
                   "window is 8, expected an odd"},
        BadCommand{"flow_scale", "oflow", with(pair, {"--scale", "1"}), "--scale 1: expected"},
        BadCommand{"flow_median", "oflow", with(pair, {"--median", "4"}), "median is 4"},
        BadCommand{"flow_blur", "oflow", with(pair, {"--blur", "-1"}), "--blur -1: expected"},
        BadCommand{"flow_texture", "oflow", with(pair, {"--texture", "2"}),
                   "--texture 2: expected"},
        BadCommand{"flow_warps", "oflow", with(pair, {"--warps", "0"}), "--warps"},
        BadCommand{"flow_iterations", "oflow", with(pair, {"--iterations", "0"}), "--iterations"},
        BadCommand{"flow_tolerance", "oflow", with(pair, {"--tolerance", "-1"}), "tolerance"},
        BadCommand{"flow_omega", "oflow", with(pair, {"--solver", "redblack", "--omega", "2"}),
                   "relaxation is 2"},
        BadCommand{"flow_idle_alpha", "oflow", with(pair, {"--method", "lk", "--alpha", "3"}),
                   "--alpha requires --method hs"},
        BadCommand{"flow_idle_window", "oflow", with(pair, {"--window", "9"}),
                   "--window requires --method lk"},
        BadCommand{"flow_idle_omega", "oflow", with(pair, {"--solver", "cg", "--omega", "1.5"}),
                   "--omega requires --solver redblack"},
        BadCommand{"flow_idle_precondition", "oflow", with(pair, {"--precondition", "none"}),
                   "--precondition requires --solver cg"},
        BadCommand{"flow_idle_basis", "oflow", with(pair, {"--basis", "newton"}),
                   "--basis requires --solver cacg"},
        BadCommand{"flow_s_step", "oflow", with(pair, {"--solver", "cacg", "--s-step", "17"}),
                   "s-step is 17"},
        BadCommand{"flow_idle_convergence", "oflow",
                   with(pair, {"--method", "lk", "--convergence", "c.csv"}),
                   "--convergence requires --method hs"},
        BadCommand{"flow_error_map_alone", "oflow", with(pair, {"--error-map", "e.png"}),
                   "--error-map requires --truth"},
        BadCommand{"flow_max_error_alone", "oflow",
                   with(pair, {"--truth", "t.flo", "--max-error", "1"}),
                   "--max-error requires --error-map"},
        BadCommand{"flow_arrow_spacing_alone", "oflow", with(pair, {"--arrow-spacing", "9"}),
                   "--arrow-spacing requires --arrows"},
        BadCommand{"flow_max_motion_alone", "oflow",
                   with(pair, {"--no-picture", "--max-motion", "9"}), "--max-motion"},
        BadCommand{"flow_max_motion", "oflow", with(pair, {"--max-motion", "0"}), "--max-motion"},
        BadCommand{"flow_out", "oflow", with(pair, {"--out", "a.txt"}),
                   "--out a.txt: expected FILE.flo"},
        BadCommand{"flow_picture", "oflow", with(pair, {"--warped", "a.txt"}), "--warped a.txt: "},
        BadCommand{"flow_device", "oflow", with(pair, {"--device", "tpu"}), "auto|cpu|gpu"},
        BadCommand{"corr_no_images", "corr", {}, "no input: expected an image or --planes"},
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
                   "--mask: 2 masks, expected at most 1"},
        BadCommand{"corr_repeat_ensemble", "corr", with(pair, {"c.png", "--repeat", "3"}),
                   "--repeat requires a single image or a pair"},
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
        BadCommand{"pfa_alone", "stap", with(cube, {"--pfa", "1e-3"}), "--pfa requires a detector"},
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
        BadCommand{"sim_too_few_bins", "stap_sim", with(scene, {"--doppler-bins", "3"}),
                   "--doppler-bins 3: fewer than the 32 pulses"},
        BadCommand{"sim_strong_clutter", "stap_sim", with(scene, {"--cnr", "999"}),
                   "--cnr 999: expected a number from -300 to 150"},
        BadCommand{"sim_strong_jammer", "stap_sim", with(scene, {"--jammer", "0:999"}), "999"},
        BadCommand{"sim_strong_target", "stap_sim", with(scene, {"--target", "1:0:0:999"}), "999"},
        BadCommand{"taper_beyond_precision", "stap", with(cube, {"--taper", "chebyshev:1000"}),
                   "chebyshev:1000: expected dB above 0, at most 200"},
        BadCommand{"sim_folder",
                   "stap_sim",
                   {"--clutter", "--out", "/dev/null/x.h5"},
                   "/dev/null/x.h5: cannot write: not a directory"}),
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

/// A flag with a numeric value. `refused`: values that are invalid for this flag in particular.
struct NumericFlag {
    std::string program;
    std::string flag;
    std::vector<std::string> context;  ///< arguments that it requires
    std::vector<std::string> refused;
};
void PrintTo(const NumericFlag& flag, std::ostream* stream) {
    *stream << flag.program << ' ' << flag.flag;
}

class NumericFlags : public testing::TestWithParam<NumericFlag> {};

const std::vector<std::string> picture{"/nonexistent/a.png"};

INSTANTIATE_TEST_SUITE_P(
    All, NumericFlags,
    testing::Values(
        NumericFlag{"stap", "--spacing", cube, {"0", "-1"}},
        NumericFlag{"stap", "--prf", cube, {"0", "-1"}},
        NumericFlag{"stap", "--doppler-bins", cube, {"0", "-1", "1.5"}},
        NumericFlag{"stap", "--tdof", cube, {"0", "-1", "2"}},
        NumericFlag{"stap", "--training-block", cube, {"0", "-1", "1.5"}},
        NumericFlag{"stap", "--guard", cube, {"-1", "1.5"}},
        NumericFlag{"stap", "--loading", cube, {"-1", "rel:nan", "rel:1e300", "rel:"}},
        NumericFlag{"stap", "--azimuth", cube, {"0:nan:3", "0:1:0", "0:1:1e300", "91"}},
        NumericFlag{"stap", "--taper", cube, {"chebyshev:0", "chebyshev:nan", "chebyshev:1e300"}},
        NumericFlag{"stap", "--pfa", with(cube, {"--detector", "amf"}), {"0", "1", "-1"}},
        NumericFlag{"stap", "--threads", cube, {"0", "-1", "99999999999999999999"}},
        NumericFlag{"stap", "--repeat", cube, {"0", "-1"}},
        NumericFlag{"stap_sim", "--channels", scene, {"0", "-1", "99999999999999999999"}},
        NumericFlag{"stap_sim", "--pulses", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--range-cells", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--spacing", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--cnr", scene, {"999", "+inf"}},
        NumericFlag{"stap_sim", "--beta", scene, {"1001"}},
        NumericFlag{"stap_sim", "--motion", scene, {"-1"}},
        NumericFlag{"stap_sim", "--patches", scene, {"0", "-1"}},
        NumericFlag{"stap_sim",
                    "--seed",
                    scene,
                    {"-1", "1.5", "9223372036854775808", "99999999999999999999999"}},
        NumericFlag{"stap_sim", "--jammer", scene, {"0:nan", "nan:0", "91:0"}},
        NumericFlag{"stap_sim", "--target", scene, {"0:nan:0:0", "0:1:0:0", "nan:0:0:0"}},
        NumericFlag{"stap_sim", "--doppler-bins", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--training-block", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--prf", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--threads", scene, {"0", "-1"}},
        NumericFlag{"oflow", "--max-motion", pair, {"0", "-1"}},
        NumericFlag{"oflow",
                    "--max-error",
                    with(pair, {"--truth", "t.flo", "--error-map", "e.ppm"}),
                    {"0", "-1"}},
        NumericFlag{"oflow", "--arrow-spacing", with(pair, {"--arrows", "a.ppm"}), {"0", "-1"}},
        NumericFlag{"oflow", "--alpha", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--regularisation", with(pair, {"--method", "lk"}), {"-1"}},
        NumericFlag{"oflow", "--window", with(pair, {"--method", "lk"}), {"0", "-1"}},
        NumericFlag{"oflow", "--levels", pair, {"-1"}},
        NumericFlag{"oflow", "--scale", pair, {"0", "-1", "1"}},
        NumericFlag{"oflow", "--warps", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--median", pair, {"-1"}},
        NumericFlag{"oflow", "--blur", pair, {"-1"}},
        NumericFlag{"oflow", "--texture", pair, {"-1", "2"}},
        NumericFlag{"oflow", "--iterations", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--tolerance", pair, {"-1", "2"}},
        NumericFlag{"oflow", "--omega", with(pair, {"--solver", "redblack"}), {"0", "-1", "2.5"}},
        NumericFlag{"oflow", "--s-step", with(pair, {"--solver", "cacg"}), {"0", "-1"}},
        NumericFlag{"oflow", "--frames", {"/nonexistent"}, {"-1:3", "0:nan", "0:3:0"}},
        NumericFlag{"oflow", "--threads", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--repeat", pair, {"0", "-1"}},
        NumericFlag{"corr", "--offsets", picture, {"0x1", "-1x1", "nanx1", "1e300x1"}},
        NumericFlag{"corr", "--threads", picture, {"0", "-1"}},
        NumericFlag{"corr", "--repeat", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--frames", picture, {"-1:3", "0:nan", "0:3:0"}},
        NumericFlag{"bgsub", "--scale", picture, {"0", "-1", "nanx1", "1x1e300"}},
        NumericFlag{"bgsub", "--window", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--overlap", with(picture, {"--window", "9"}), {"-1"}},
        NumericFlag{"bgsub", "--rank", with(picture, {"--online"}), {"0", "-1"}},
        NumericFlag{"bgsub", "--lambda", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--tolerance", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--max-iterations", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--burn-in", with(picture, {"--online"}), {"0", "-1"}},
        NumericFlag{"bgsub", "--memory", with(picture, {"--online"}), {"0", "-1"}},
        NumericFlag{"bgsub", "--threshold", picture, {"-1", "noise:0", "noise:nan", "noise:1e300"}},
        NumericFlag{"bgsub", "--clean", picture, {"-1", "256"}},
        NumericFlag{"bgsub", "--min-area", picture, {"-1"}},
        NumericFlag{"bgsub", "--threads", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--repeat", picture, {"0", "-1"}}));

// The inputs do not exist, so an accepted number leads to an error about the inputs instead.
TEST_P(NumericFlags, RefuseWhatIsNoSensibleNumberInOneShortLine) {
    const auto& [program, flag, context, refused] = GetParam();
    constexpr std::size_t short_line = 160;
    for (const std::string& text : with(refused, {"nan", "inf", "1e300", "", "text"})) {
        const Outcome outcome = run_program(program, with(context, {flag, text}));
        EXPECT_EQ(outcome.status, 1) << text;
        EXPECT_THAT(lines(outcome.error), SizeIs(1)) << text;
        EXPECT_THAT(outcome.error, HasSubstr(flag.substr(2))) << text;
        EXPECT_EQ(outcome.error.find("exist"), std::string::npos) << outcome.error;
        EXPECT_EQ(outcome.error.find("no such file"), std::string::npos) << outcome.error;
        EXPECT_LT(outcome.error.size(), short_line) << outcome.error;
    }
}

}  // namespace
}  // namespace aperture::apps::tests
