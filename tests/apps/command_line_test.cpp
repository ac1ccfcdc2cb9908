// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Help, version and invalid command lines.
#include "aperture/core/version.hpp"
#include "tests/apps/program_inputs.hpp"

namespace aperture::apps::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(Help, NamesEveryFlagAndShowsAnExample) {
    const std::vector<std::string> every{"-o,--out",  "--report", "--threads",    "-q,--quiet",
                                         "--verbose", "--strict", "-V,--version", "Example:"};
    const std::vector<std::string> computing{"--device", "--repeat"};
    const std::vector<std::pair<std::string, std::vector<std::string>>> own{
        {"stap", joined(computing, {"--cube",
                                    "--dataset",
                                    "--axes",
                                    "--domain",
                                    "--allow-nan",
                                    "--doppler-bins",
                                    "--taper",
                                    "--tdof",
                                    "--training-block",
                                    "--training",
                                    "--guard",
                                    "--loading",
                                    "--azimuth",
                                    "--solver",
                                    "--precision",
                                    "--impl",
                                    "--detector",
                                    "--pfa",
                                    "--truth",
                                    "--save",
                                    "--plot",
                                    "--spacing",
                                    "--prf",
                                    "--fftshift",
                                    "--plot-angle-doppler",
                                    "--plot-pattern",
                                    "--plot-sinr",
                                    "--plot-azimuth",
                                    "--plot-doppler",
                                    "--plot-range",
                                    "--positions",
                                    "--elevation"})},
        {"stap_sim",
         {"--perfect", "--clutter", "--channels", "--pulses", "--range-cells", "--spacing", "--cnr",
          "--beta", "--motion", "--patches", "--jammer", "--target", "--seed", "--doppler-bins",
          "--training-block", "--prf"}},
        {"oflow",
         joined(computing, {"images",        "--frames",        "--method",         "--preset",
                            "--alpha",       "--lk-window",     "--regularisation", "--levels",
                            "--level-scale", "--warps",         "--median",         "--blur",
                            "--texture",     "--interpolation", "--solver",         "--iterations",
                            "--tolerance",   "--omega",         "--precondition",   "--s-step",
                            "--basis",       "--boundary",      "--stencil",        "--no-picture",
                            "--max-motion",  "--truth",         "--error-map",      "--max-error",
                            "--warped",      "--arrows",        "--arrow-spacing",  "--consistency",
                            "--convergence", "--impl"})},
        {"corr", joined(computing, {"images", "--planes-from", "--normalize", "--offsets",
                                    "--signed", "--estimator", "--method", "--mask", "--radial",
                                    "--no-picture", "--planes", "--all-pairs", "--precision"})},
        {"bgsub", joined(computing, {"input",       "--frames",     "--scale",          "--window",
                                     "--online",    "--truth",      "--method",         "--solver",
                                     "--threshold", "--out-format", "--burn-in",        "--clean",
                                     "--color",     "--lambda",     "--max-iterations", "--memory",
                                     "--min-area",  "--overlap",    "--precision",      "--rank",
                                     "--svd",       "--tolerance",  "--until",          "--save",
                                     "--resume",    "--in-turn",    "--patience"})}};
    for (const auto& [program, flags] : own) {
        const Outcome help = run_program(program, {"--help"});
        EXPECT_EQ(help.status, 0);
        EXPECT_THAT(help.error, IsEmpty());
        for (const auto& flag : joined(flags, every)) EXPECT_THAT(help.out, HasSubstr(flag));
    }
}

TEST(Version, IsTheProjects) {
    for (const std::string program : {"bgsub", "corr", "oflow", "stap", "stap_sim"}) {
        const Outcome version = run_program(program, {"--version"});
        EXPECT_EQ(version.status, 0);
        EXPECT_THAT(version.out, StartsWith(program + " " + core::version()));
        const auto text = lines(version.out);
        ASSERT_THAT(text, SizeIs(2));
        for (const char* const library :
             {"built with ", core::compiler(), "CUDA", "HDF5 ", "Cairo", "OpenCV"}) {
            EXPECT_THAT(text[1], HasSubstr(library));
        }
    }
}

class RefusedCommand : public testing::TestWithParam<Refusal> {};

const std::vector<std::string> scene{"--clutter", "--out", "/dev/null/x.h5"};

const std::vector<std::string> cube{"--cube", "/nonexistent/cube.h5"};
const std::vector<std::string> pair{"/nonexistent/a.png", "/nonexistent/b.png"};

INSTANTIATE_TEST_SUITE_P(
    All, RefusedCommand,
    testing::Values(
        Refusal{"flow_no_images", "oflow", {}, "images is required"},
        Refusal{"flow_unknown_alone", "oflow", {"--bogus"}, "unknown argument --bogus"},
        Refusal{"bgsub_unknown_alone", "bgsub", {"--bogus"}, "unknown argument --bogus"},
        Refusal{"corr_unknown_alone", "corr", {"--bogus"}, "unknown argument --bogus"},
        Refusal{"stap_unknown_alone", "stap", {"--bogus"}, "unknown argument --bogus"},
        Refusal{"sim_unknown_alone", "stap_sim", {"--bogus"}, "unknown argument --bogus"},
        Refusal{"flow_one_image",
                "oflow",
                {"/nonexistent/a.png", "--device", "cpu"},
                "/nonexistent/a.png: no such file"},
        Refusal{"flow_convergence_thrice", "oflow",
                joined(pair, {"--convergence", "a.csv", "--convergence", "a.png", "--convergence",
                              "b.png"}),
                "--convergence: expected a table, a figure, or one of each"},
        Refusal{"flow_convergence_name", "oflow", joined(pair, {"--convergence", "a.txt"}),
                "--convergence a.txt: expected FILE.csv, FILE.png"},
        Refusal{"flow_unknown_flag", "oflow", joined(pair, {"--frobnicate"}), "--frobnicate"},
        Refusal{"flow_method", "oflow", joined(pair, {"--method", "x"}),
                "--method x: expected hs|lk"},
        Refusal{"flow_preset", "oflow", joined(pair, {"--preset", "x"}), "fast|accurate|thesis"},
        Refusal{"flow_solver", "oflow", joined(pair, {"--solver", "sor"}),
                "--solver sor: expected jacobi|block2x2|cg|cacg|redblack|multigrid"},
        Refusal{"flow_stencil", "oflow", joined(pair, {"--stencil", "7"}), "5|9"},
        Refusal{"flow_robust_boundary", "oflow",
                joined(pair, {"--preset", "accurate", "--boundary", "zero"}),
                "a robust estimate requires"},
        Refusal{"flow_alpha", "oflow", joined(pair, {"--alpha", "-1"}), "--alpha -1: expected"},
        Refusal{"flow_alpha_word", "oflow", joined(pair, {"--alpha", "much"}), "--alpha"},
        Refusal{"flow_window", "oflow", joined(pair, {"--method", "lk", "--lk-window", "8"}),
                "window is 8, expected an odd"},
        Refusal{"flow_scale", "oflow", joined(pair, {"--level-scale", "1"}),
                "--level-scale 1: expected"},
        Refusal{"flow_median", "oflow", joined(pair, {"--median", "4"}), "median is 4"},
        Refusal{"flow_blur", "oflow", joined(pair, {"--blur", "-1"}), "--blur -1: expected"},
        Refusal{"flow_texture", "oflow", joined(pair, {"--texture", "2"}), "--texture 2: expected"},
        Refusal{"flow_omega", "oflow", joined(pair, {"--solver", "redblack", "--omega", "2"}),
                "relaxation is 2"},
        Refusal{"flow_idle_alpha", "oflow", joined(pair, {"--method", "lk", "--alpha", "3"}),
                "--alpha requires --method hs"},
        Refusal{"flow_idle_window", "oflow", joined(pair, {"--lk-window", "9"}),
                "--lk-window requires --method lk"},
        Refusal{"flow_idle_omega", "oflow", joined(pair, {"--solver", "cg", "--omega", "1.5"}),
                "--omega requires --solver redblack"},
        Refusal{"flow_idle_precondition", "oflow", joined(pair, {"--precondition", "none"}),
                "--precondition requires --solver cg"},
        Refusal{"flow_idle_basis", "oflow", joined(pair, {"--basis", "newton"}),
                "--basis requires --solver cacg"},
        Refusal{"flow_s_step", "oflow", joined(pair, {"--solver", "cacg", "--s-step", "17"}),
                "s-step is 17"},
        Refusal{"flow_idle_convergence", "oflow",
                joined(pair, {"--method", "lk", "--convergence", "c.csv"}),
                "--convergence requires --method hs"},
        Refusal{"flow_error_map_alone", "oflow", joined(pair, {"--error-map", "e.png"}),
                "--error-map requires --truth"},
        Refusal{"flow_max_error_alone", "oflow",
                joined(pair, {"--truth", "t.flo", "--max-error", "1"}),
                "--max-error requires --error-map"},
        Refusal{"flow_arrow_spacing_alone", "oflow", joined(pair, {"--arrow-spacing", "9"}),
                "--arrow-spacing requires --arrows"},
        Refusal{"flow_max_motion_alone", "oflow",
                joined(pair, {"--no-picture", "--max-motion", "9"}), "--max-motion"},
        Refusal{"flow_out", "oflow", joined(pair, {"--out", "a.txt"}),
                "--out a.txt: expected FILE.flo"},
        Refusal{"flow_picture", "oflow", joined(pair, {"--warped", "a.txt"}), "--warped a.txt: "},
        Refusal{"flow_device", "oflow", joined(pair, {"--device", "tpu"}), "auto|cpu|gpu"},
        Refusal{"corr_no_images", "corr", {}, "no input: expected an image or --planes"},
        Refusal{"corr_unknown_flag", "corr", joined(pair, {"--frobnicate"}), "--frobnicate"},
        Refusal{"corr_planes", "corr", joined(pair, {"--planes-from", "x"}),
                "--planes-from x: expected lab-orientation|grey|gray|rgb|gradient"},
        Refusal{"corr_normalize", "corr", joined(pair, {"--normalize", "x"}), "plane|none"},
        Refusal{"corr_offsets", "corr", joined(pair, {"--offsets", "250"}),
                "--offsets 250: expected HxW"},
        Refusal{"corr_offsets_zero", "corr", joined(pair, {"--offsets", "0x5"}),
                "--offsets 0x5: expected HxW"},
        Refusal{"corr_offsets_three", "corr", joined(pair, {"--offsets", "5x5x5"}),
                "--offsets 5x5x5: expected HxW"},
        Refusal{"corr_offsets_negative", "corr", joined(pair, {"--offsets", "5x-5"}),
                "--offsets 5x-5: expected HxW"},
        Refusal{"corr_offsets_huge", "corr", joined(pair, {"--offsets", "5x99999999999999999999"}),
                "expected HxW"},
        Refusal{"corr_estimator", "corr", joined(pair, {"--estimator", "x"}),
                "raw|unbiased|pearson"},
        Refusal{"corr_method", "corr", joined(pair, {"--method", "x"}), "auto|direct|fft"},
        Refusal{"corr_out", "corr", joined(pair, {"--out", "a.png"}),
                "--out a.png: expected FILE.h5"},
        Refusal{"corr_radial", "corr", joined(pair, {"--radial", "a.txt"}),
                "--radial a.txt: expected FILE.csv"},
        Refusal{"corr_masks",
                "corr",
                {"/nonexistent/a.png", "--mask", "m.png", "--mask", "n.png"},
                "--mask: 2 masks, expected at most 1"},
        Refusal{"corr_repeat_ensemble", "corr", joined(pair, {"c.png", "--repeat", "3"}),
                "--repeat requires a single image or a pair"},
        Refusal{"no_cube", "stap", {}, "--cube is required"},
        Refusal{"unknown_flag", "stap", joined(cube, {"--frobnicate"}), "--frobnicate"},
        Refusal{"stray_word", "stap", joined(cube, {"stray"}), "stray"},
        Refusal{"training", "stap", joined(cube, {"--training", "none"}), "block|sliding|all"},
        Refusal{"solver", "stap", joined(cube, {"--solver", "lu"}), "cholesky|gauss-jordan"},
        Refusal{"detector", "stap", joined(cube, {"--detector", "x"}), "none|amf|ace|glrt|cfar"},
        Refusal{"impl", "stap", joined(cube, {"--impl", "x"}), "fused|staged|cublas"},
        Refusal{"precision", "stap", joined(cube, {"--precision", "fp16"}), "fp32|mixed"},
        Refusal{"device", "stap", joined(cube, {"--device", "tpu"}), "auto|cpu|gpu"},
        Refusal{"domain", "stap", joined(cube, {"--domain", "time"}), "pulse|doppler"},
        Refusal{"taper", "stap", joined(cube, {"--taper", "kaiser"}), "kaiser"},
        Refusal{"loading", "stap", joined(cube, {"--loading", "much"}), "--loading"},
        Refusal{"azimuth", "stap", joined(cube, {"--azimuth", "left"}), "--azimuth"},
        Refusal{"save", "stap", joined(cube, {"--save", "everything"}), "--save everything"},
        Refusal{"pfa_alone", "stap", joined(cube, {"--pfa", "1e-3"}), "--pfa requires a detector"},
        Refusal{"pfa_range", "stap", joined(cube, {"--detector", "amf", "--pfa", "2"}),
                "--pfa 2: expected a probability"},
        Refusal{"weights_of_all", "stap", joined(cube, {"--training", "all", "--save", "weights"}),
                "/nonexistent/cube.h5"},
        Refusal{"sim_nothing", "stap_sim", {"--out", "x.h5"}, "--perfect small|medium|large"},
        Refusal{"sim_no_out", "stap_sim", {"--clutter"}, "--out is required"},
        Refusal{"sim_size", "stap_sim", {"--perfect", "huge", "--out", "x.h5"}, "huge"},
        Refusal{"sim_target", "stap_sim", joined(scene, {"--target", "5"}), "--target 5"},
        Refusal{"sim_jammer", "stap_sim", joined(scene, {"--jammer", "5"}), "--jammer 5"},
        Refusal{"sim_far_target", "stap_sim",
                joined(scene, {"--range-cells", "100", "--target", "100:0:0:0"}),
                "--target range cell 100: the cube has 100"},
        Refusal{"sim_target_alone",
                "stap_sim",
                {"--perfect", "small", "--target", "1:0:0:0", "--out", "x.h5"},
                "requires --clutter"},
        Refusal{"sim_two_shapes",
                "stap_sim",
                {"--perfect", "small", "--channels", "3", "--out", "x.h5"},
                "--perfect excludes --channels"},
        Refusal{"sim_too_few_bins", "stap_sim", joined(scene, {"--doppler-bins", "3"}),
                "--doppler-bins 3: fewer than the 32 pulses"},
        Refusal{"sim_strong_clutter", "stap_sim", joined(scene, {"--cnr", "999"}),
                "--cnr 999: expected a number from -300 to 150"},
        Refusal{"sim_strong_jammer", "stap_sim", joined(scene, {"--jammer", "0:999"}), "999"},
        Refusal{"sim_strong_target", "stap_sim", joined(scene, {"--target", "1:0:0:999"}), "999"},
        Refusal{"taper_beyond_precision", "stap", joined(cube, {"--taper", "chebyshev:1000"}),
                "chebyshev:1000: expected dB above 0, at most 200"},
        Refusal{"sim_folder",
                "stap_sim",
                {"--clutter", "--out", "/dev/null/x.h5"},
                "/dev/null/x.h5: cannot write: not a directory"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedCommand, SaysWhyInOneLine) {
    const auto& [name, program, arguments, expected] = GetParam();
    expect_refused(program, run_program(program, arguments), expected);
}

}  // namespace
}  // namespace aperture::apps::tests
