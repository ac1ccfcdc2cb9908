// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Runs that a program refuses because of its images, videos, truths or outputs. For cubes, see
// bad_input_test.cpp; for what the command line alone shows, command_line_test.cpp.
#include "apps/common/file_names.hpp"
#include "tests/apps/program_inputs.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using media::tests::write_bytes;

class RefusedRun : public ProgramInputs, public testing::WithParamInterface<Refusal> {};

using Words = std::vector<std::string>;

const Words pair{"FOLDER/a.pgm", "FOLDER/b.pgm"};
const Words image{"FOLDER/a.pgm"};
const Words frames{"FOLDER/V"};
const Words cube{"--cube", "FOLDER/c.h5"};

INSTANTIATE_TEST_SUITE_P(
    Pairs, RefusedRun,
    testing::Values(
        Refusal{"one_row",
                "oflow",
                {"FOLDER/row0.pgm", "FOLDER/row1.pgm", "--method", "lk"},
                "--method lk requires at least 2 x 2 pixels"},
        Refusal{"first_missing",
                "oflow",
                {"FOLDER/none.pgm", "FOLDER/b.pgm"},
                "none.pgm: no such file"},
        Refusal{"second_missing",
                "oflow",
                {"FOLDER/a.pgm", "FOLDER/none.pgm"},
                "none.pgm: no such file"},
        Refusal{"no_image", "oflow", {"FOLDER/a.pgm", "FOLDER/text.txt"}, "text.txt: "},
        Refusal{"empty_image", "oflow", {"FOLDER/empty.pgm", "FOLDER/b.pgm"}, "empty.pgm: "},
        Refusal{"truncated", "oflow", {"FOLDER/a.pgm", "FOLDER/half.pgm"}, "half.pgm: "},
        Refusal{"other_size",
                "oflow",
                {"FOLDER/a.pgm", "FOLDER/wide.pgm"},
                "wide.pgm: 97x70 pixels, but "},
        Refusal{"other_size_names_both",
                "oflow",
                {"FOLDER/a.pgm", "FOLDER/wide.pgm"},
                "a.pgm has 96x72"},
        Refusal{"truth_missing", "oflow", joined(pair, {"--truth", "FOLDER/none.flo"}),
                "none.flo: no such"},
        Refusal{"truth_is_an_image", "oflow", joined(pair, {"--truth", "FOLDER/a.pgm"}), "a.pgm: "},
        Refusal{"truth_of_other_size", "oflow", joined(pair, {"--truth", "FOLDER/tall.flo"}),
                "tall.flo: 72x96 pixels, but "},
        Refusal{"picture_is_first_image", "oflow", joined(pair, {"--warped", "FOLDER/a.pgm"}),
                "a.pgm: cannot write: it is the input"},
        Refusal{"picture_is_second_image", "oflow", joined(pair, {"--consistency", "FOLDER/b.pgm"}),
                "b.pgm: cannot write: it is the input"},
        Refusal{"report_is_an_image", "oflow", joined(pair, {"--report", "FOLDER/b.pgm"}),
                "b.pgm: cannot write: it is the input"},
        Refusal{"flow_is_the_truth", "oflow",
                joined(pair, {"--truth", "FOLDER/truth.flo", "--out", "FOLDER/truth.flo"}),
                "truth.flo: cannot write: it is the input"},
        Refusal{"two_outputs_of_one_name", "oflow",
                joined(pair, {"--warped", "FOLDER/x.ppm", "--consistency", "FOLDER/x.ppm"}),
                "x.ppm: used for two outputs"},
        Refusal{"flow_in_a_file", "oflow", joined(pair, {"--out", "FOLDER/a.pgm/a.flo"}),
                "a.flo: cannot write"},
        Refusal{"warped_in_a_file", "oflow", joined(pair, {"--warped", "FOLDER/a.pgm/x.ppm"}),
                "x.ppm: cannot write"},
        Refusal{"mask_in_a_file", "oflow", joined(pair, {"--consistency", "FOLDER/a.pgm/x.ppm"}),
                "x.ppm: cannot write"},
        Refusal{"table_in_a_file", "oflow", joined(pair, {"--convergence", "FOLDER/a.pgm/x.csv"}),
                "x.csv: cannot write"},
        Refusal{"report_in_a_file", "oflow", joined(pair, {"--report", "FOLDER/a.pgm/x.json"}),
                "x.json: cannot write"},
        Refusal{"impl_on_the_cpu", "oflow", joined(pair, {"--impl", "staged"}),
                "--impl requires a GPU"},
        Refusal{"report_is_a_device", "oflow", joined(pair, {"--report", "/dev/full"}),
                "/dev/full"}),
    [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Sequences, RefusedRun,
    testing::Values(
        Refusal{"missing", "oflow", {"FOLDER/none.avi"}, "none.avi: no such file"},
        Refusal{"empty_folder", "oflow", {"FOLDER/empty"}, "empty: the folder contains no image"},
        Refusal{"pattern_of_nothing", "oflow", {"FOLDER/V/x*.pgm"}, "no file matches"},
        Refusal{"no_video", "oflow", {"FOLDER/text.txt"}, "text.txt: "},
        Refusal{"single_image", "oflow", image, "a.pgm: found a single frame"},
        Refusal{"single_frame", "oflow", joined(frames, {"--frames", "2:3"}),
                "found a single frame"},
        Refusal{"frames_beyond", "oflow", joined(frames, {"--frames", "0:9"}),
                "--frames exceeds the 4 frames"},
        Refusal{"frames_of_no_form", "oflow", joined(frames, {"--frames", "3"}), "FIRST:LAST"},
        Refusal{"frames_backwards", "oflow", joined(frames, {"--frames", "3:1"}), "FIRST:LAST"},
        Refusal{"frames_of_a_pair", "oflow", joined(pair, {"--frames", "0:2"}),
                "--frames requires a sequence"},
        Refusal{"truth", "oflow", joined(frames, {"--truth", "t.flo"}),
                "--truth requires a single pair"},
        Refusal{"convergence", "oflow", joined(frames, {"--convergence", "c.csv"}),
                "--convergence requires a single pair"},
        Refusal{"repeat", "oflow", joined(frames, {"--repeat", "3"}),
                "--repeat requires a single pair"},
        Refusal{"out_is_a_flow", "oflow", joined(frames, {"--out", "FOLDER/a.flo"}),
                "a.flo: expected a folder for a sequence"},
        Refusal{"arrows_are_a_picture", "oflow", joined(frames, {"--arrows", "FOLDER/a.png"}),
                "a.png: expected a folder for a sequence"},
        Refusal{"out_is_a_file", "oflow", joined(frames, {"--out", "FOLDER/text.txt"}),
                "text.txt: cannot write"},
        Refusal{"out_is_the_input", "oflow", joined(frames, {"--warped", "FOLDER/V/../V"}),
                "cannot write: the folder contains the input frames"},
        Refusal{"two_folders_of_one_name", "oflow",
                joined(frames, {"--warped", "FOLDER/x", "--consistency", "FOLDER/x/"}),
                "x: used for two outputs"},
        Refusal{"report_is_a_frame", "oflow", joined(frames, {"--report", "FOLDER/V/1.pgm"}),
                "1.pgm: cannot write: it is the input"},
        Refusal{"sequence_report_in_a_file", "oflow",
                joined(frames, {"--report", "FOLDER/text.txt/r.json"}), "r.json: cannot write"}),
    [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Clips, RefusedRun,
    testing::Values(
        Refusal{"missing", "bgsub", {"FOLDER/none.avi"}, "none.avi: no such file"},
        Refusal{"no_video", "bgsub", {"FOLDER/text.txt"}, "text.txt: "},
        Refusal{"empty_folder", "bgsub", {"FOLDER/empty"}, "empty: the folder contains no image"},
        Refusal{"sizes", "bgsub", {"FOLDER/mixed"}, "2.pgm: 8x4 pixels, but "},
        Refusal{"frames_beyond", "bgsub", joined(frames, {"--frames", "5:9"}),
                "--frames exceeds the 4 frames"},
        Refusal{"frames_backwards", "bgsub", joined(frames, {"--frames", "3:1"}), "FIRST:LAST"},
        Refusal{"scale_zero", "bgsub", joined(frames, {"--scale", "0"}), "expected a factor"},
        Refusal{"scale_form", "bgsub", joined(frames, {"--scale", "8x8x8"}), "expected a factor"},
        Refusal{"scale_parts", "bgsub", joined(frames, {"--scale", "8.5x8"}), "whole pixels"},
        Refusal{"memory", "bgsub", joined(frames, {"--scale", "200000x200000"}),
                "try --window, fewer"},
        Refusal{"window_memory", "bgsub",
                joined(frames, {"--scale", "200000x200000", "--window", "3"}), "--window 3: "},
        Refusal{"gpu_median", "bgsub", joined(frames, {"--device", "gpu", "--method", "median"}),
                "--method median runs only on the CPU"},
        Refusal{"gpu_online", "bgsub", joined(frames, {"--device", "gpu", "--online"}),
                "--method online runs only on the CPU"},
        Refusal{"fp32_tolerance", "bgsub", joined(frames, {"--tolerance", "1e-7"}),
                "--precision fp64"},
        Refusal{"one_frame", "bgsub", image, "a.pgm: 1 frame, but at least 2 are required"},
        Refusal{"one_of_frames", "bgsub", joined(frames, {"--frames", "2:3", "--method", "median"}),
                "1 frame, but at least 2 are required"},
        Refusal{"window_of_one", "bgsub", joined(frames, {"--window", "1"}), "--window"},
        Refusal{"overlap", "bgsub", joined(frames, {"--overlap", "3"}),
                "--overlap requires --window"},
        Refusal{"overlap_all", "bgsub", joined(frames, {"--window", "3", "--overlap", "3"}),
                "expected less than --window 3"},
        Refusal{"repeat", "bgsub", joined(frames, {"--window", "3", "--repeat", "3"}),
                "cannot be combined with --window"},
        Refusal{"median_solver", "bgsub", joined(frames, {"--method", "median", "--lambda", "1"}),
                "--lambda requires --method rpca"},
        Refusal{"projected_lambda", "bgsub",
                joined(frames, {"--solver", "accaltproj", "--lambda", "1"}),
                "--lambda requires --solver ialm or admm"},
        Refusal{"ialm_rank", "bgsub", joined(frames, {"--rank", "3"}),
                "--rank requires --solver accaltproj"},
        Refusal{"online_window", "bgsub", joined(frames, {"--online", "--window", "3"}),
                "--window cannot be combined with --method online"},
        Refusal{"online_median", "bgsub", joined(frames, {"--online", "--method", "median"}),
                "--online cannot be combined with --method median"},
        Refusal{"online_rank", "bgsub", joined(frames, {"--online", "--rank", "2"}),
                "--rank requires --method rpca"},
        Refusal{"burn_in", "bgsub", joined(frames, {"--method", "median", "--burn-in", "3"}),
                "--burn-in requires --method online"},
        Refusal{"patience", "bgsub", joined(frames, {"--memory", "60", "--patience", "50"}),
                "patience must be at least the memory of 60 frames"},
        Refusal{"online_memory", "bgsub", joined(frames, {"--online", "--scale", "200000x200000"}),
                "--burn-in 100: "},
        Refusal{"clean", "bgsub", joined(frames, {"--clean", "4"}), "expected an odd number"},
        Refusal{"threshold", "bgsub", joined(frames, {"--threshold", "-1"}),
                "expected a number from 0"},
        Refusal{"noise", "bgsub", joined(frames, {"--threshold", "noise:0"}),
                "expected a number above 0"},
        Refusal{"until", "bgsub", joined(frames, {"--until", "mask", "--threshold", "noise:3"}),
                "--until mask cannot be combined with --threshold noise:K"},
        Refusal{"truth", "bgsub", joined(frames, {"--truth", "FOLDER/empty"}), "no true mask"},
        Refusal{"out", "bgsub", joined(frames, {"--out", "FOLDER/text.txt/x"}), "cannot write"},
        Refusal{"report", "bgsub", joined(frames, {"--report", "FOLDER/V/0.pgm"}),
                "it is the input"}),
    [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Images, RefusedRun,
    testing::Values(
        Refusal{"missing", "corr", {"FOLDER/none.pgm"}, "none.pgm: no such file"},
        Refusal{"second_missing", "corr", joined(image, {"FOLDER/none.pgm"}),
                "none.pgm: no such file"},
        Refusal{"other_size", "corr", joined(image, {"FOLDER/wide.pgm"}),
                "wide.pgm: 97x70 pixels, but "},
        Refusal{"many_rows", "corr", joined(image, {"--offsets", "73x5"}),
                "offsets are 73 x 5, expected 1 x 1 to 72 x 96"},
        Refusal{"many_columns", "corr", joined(image, {"--offsets", "5x97"}), "offsets are 5 x 97"},
        Refusal{"report_is_the_image", "corr", joined(image, {"--report", "FOLDER/a.pgm"}),
                "a.pgm: cannot write: it is the input"},
        Refusal{"out_in_a_file", "corr", joined(image, {"--out", "FOLDER/a.pgm/a.h5"}),
                "a.h5: cannot write"},
        Refusal{"radial_in_a_file", "corr", joined(image, {"--radial", "FOLDER/a.pgm/r.csv"}),
                "r.csv: cannot write"},
        Refusal{"radial_is_the_report", "corr",
                joined(image, {"--radial", "FOLDER/x.csv", "--report", "FOLDER/x.csv"}),
                "x.csv: used for two outputs"},
        Refusal{"spectrum_is_the_report", "corr",
                joined(image, {"--radial", "FOLDER/r.csv", "--report", "FOLDER/r.spectrum.csv"}),
                "r.spectrum.csv: used for two outputs"},
        Refusal{"no_image", "corr", {"FOLDER/text.txt"}, "text.txt: "},
        Refusal{"truncated", "corr", {"FOLDER/half.pgm"}, "half.pgm: "}),
    [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Cubes, RefusedRun,
    testing::Values(
        Refusal{"report_is_the_cube", "stap",
                joined(cube, {"--out", "FOLDER/x.h5", "--report", "FOLDER/c.h5"}),
                "c.h5: cannot write: it is the input"},
        Refusal{"report_is_a_link_to_the_cube", "stap",
                joined(cube, {"--out", "FOLDER/x.h5", "--report", "FOLDER/l.h5"}),
                "l.h5: cannot write: it is the input"},
        Refusal{"plot_is_a_link_to_the_cube", "stap",
                joined(cube, {"--out", "FOLDER/x.h5", "--plot", "FOLDER/l.png"}),
                "cannot write: it is the input"},
        Refusal{"report_is_the_result_by_default", "stap",
                joined(cube, {"--report", "FOLDER/c.stap.h5"}), "c.stap.h5: used for two outputs"},
        Refusal{"report_is_the_result", "stap",
                joined(cube, {"--out", "FOLDER/x.h5", "--report", "FOLDER/x.h5"}),
                "x.h5: used for two outputs"},
        Refusal{"report_is_the_plot", "stap",
                joined(cube, {"--plot", "FOLDER/q.svg", "--report", "FOLDER/q.svg"}),
                "q.svg: used for two outputs"},
        Refusal{"result_is_the_plot", "stap",
                joined(cube, {"--out", "FOLDER/p.svg", "--plot", "FOLDER/p.svg"}),
                "p.svg: used for two outputs"},
        Refusal{"plot_of_no_format", "stap", joined(cube, {"--plot", "FOLDER/map.h5"}),
                "map.h5: expected a name that ends in .png"},
        Refusal{"out_in_a_file", "stap", joined(cube, {"--out", "FOLDER/c.h5/out.h5"}),
                "out.h5: cannot write"},
        Refusal{"report_in_a_file", "stap", joined(cube, {"--report", "FOLDER/c.h5/report.json"}),
                "report.json: cannot write"},
        Refusal{"plot_in_a_file", "stap", joined(cube, {"--plot", "FOLDER/c.h5/map.png"}),
                "cannot write"},
        Refusal{"out_is_the_cube", "stap", joined(cube, {"--out", "FOLDER/c.h5"}),
                "c.h5: cannot write: it is the input"},
        Refusal{
            "out_is_the_truth", "stap",
            joined(cube, {"--detector", "amf", "--truth", "FOLDER/t.h5", "--out", "FOLDER/t.h5"}),
            "t.h5: cannot write: it is the input"},
        Refusal{
            "truth_without_targets", "stap",
            joined(cube, {"--loading", "rel:1e-2", "--detector", "amf", "--truth", "FOLDER/c.h5"}),
            "c.h5: no dataset /truth"},
        Refusal{"out_is_a_device", "stap", joined(cube, {"--out", "/dev/full"}), "/dev/full"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedRun, LeavesOneLineAndAllFilesAsTheyWere) {
    const bool draws = GetParam().name.find("plot") != std::string::npos;
    if (draws && !have_figures) GTEST_SKIP() << "built without Cairo";
    write_texture(folder_ / "a.pgm", {}, 0, 0);
    write_texture(folder_ / "b.pgm", {}, -1, 0);
    write_texture(folder_ / "wide.pgm", {.width = 97, .height = 70}, 0, 0);
    write_bytes(folder_ / "half.pgm", read_bytes(folder_ / "a.pgm").substr(0, 3000));
    write_bytes(folder_ / "empty.pgm", "");
    write_bytes(folder_ / "row0.pgm", "P5 40 1 255 " + std::string(40, 'a'));
    write_bytes(folder_ / "row1.pgm", "P5 40 1 255 " + std::string(40, 'b'));
    write_constant_flo(folder_ / "truth.flo", 96, 72, 1, 0);
    write_constant_flo(folder_ / "tall.flo", 72, 96, 0, 0);
    write_bytes(folder_ / "text.txt", "no image and no video");
    std::filesystem::create_directory(folder_ / "empty");
    std::filesystem::create_directory(folder_ / "mixed");
    write_bytes(folder_ / "mixed/1.pgm", "P5 4 4 255\n" + std::string(16, ' '));
    write_bytes(folder_ / "mixed/2.pgm", "P5 8 4 255\n" + std::string(32, ' '));
    std::filesystem::copy_file(folder_ / "c.h5", folder_ / "t.h5");
    for (const auto* link : {"l.h5", "l.png", "l.ppm"}) {
        std::filesystem::create_symlink("c.h5", folder_ / link);
    }
    const auto before = folder_.entries();
    auto [name, program, arguments, expected] = GetParam();
    if (program == "bgsub") arguments = joined(arguments, {"--out-format", "npy"});
    expect_refused(program, run(program, arguments), expected);
    EXPECT_EQ(folder_.entries(), before);
    EXPECT_TRUE(read_bytes(folder_ / "c.h5") == read_bytes(folder_ / "t.h5"));
}

}  // namespace
}  // namespace aperture::apps::tests
