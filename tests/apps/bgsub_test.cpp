// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub as a user runs it: what is read, found, written, printed and refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aperture/media/image_file.hpp"
#include "aperture/media/video_file.hpp"
#include "apps/bgsub/separator.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/shared_data.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#endif

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using media::tests::TemporaryFolder;
using media::tests::write_bytes;
using std::filesystem::path;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// A square that moves over a ground which does not.
struct Scene {
    int width = 97;
    int height = 73;
    int side = 20;  ///< of the square; 0: there is none
    int step = 4;   ///< pixels from frame to frame

    int left(int frame) const { return step * frame; }
    int top() const { return height / 3; }
    bool moving(int frame, int x, int y) const {
        return x >= left(frame) && x < left(frame) + side && y >= top() && y < top() + side;
    }
    std::uint8_t level(int frame, int x, int y) const {
        return static_cast<std::uint8_t>(moving(frame, x, y) ? 230 : 40 + (3 * x + 5 * y) % 80);
    }
};

std::string numbered(const char* begin, int number, const char* end) {
    std::ostringstream name;
    name << begin << std::setw(6) << std::setfill('0') << number << end;
    return name.str();
}

std::string pgm(const Scene& scene, int frame) {
    std::string bytes =
        "P5 " + std::to_string(scene.width) + ' ' + std::to_string(scene.height) + " 255\n";
    for (int y = 0; y < scene.height; ++y) {
        for (int x = 0; x < scene.width; ++x) {
            bytes += static_cast<char>(scene.level(frame, x, y));
        }
    }
    return bytes;
}

std::vector<std::uint8_t> masks_in(const path& npy, const std::string& shape) {
    const std::string bytes = read_bytes(npy);
    EXPECT_THAT(bytes, HasSubstr("'shape': (" + shape + ",), }"));
    const std::size_t begin = bytes.find('\n') + 1;
    return {bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end()};
}

std::vector<float> floats_in(const path& npy) {
    const std::string bytes = read_bytes(npy);
    const std::size_t begin = bytes.find('\n') + 1;
    std::vector<float> values((bytes.size() - begin) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
    return values;
}

/// F-measure of masks [frame][row][column] against the scene's, frames `step` apart.
double f_measure(const std::vector<std::uint8_t>& masks, const Scene& scene, int frames) {
    double hits = 0;
    double wrong = 0;
    auto mask = masks.begin();
    for (int frame = 0; frame < frames; ++frame) {
        for (int y = 0; y < scene.height; ++y) {
            for (int x = 0; x < scene.width; ++x, ++mask) {
                const bool found = *mask == 255;
                if (found != scene.moving(frame, x, y)) ++wrong;
                if (found && scene.moving(frame, x, y)) ++hits;
            }
        }
    }
    return 2 * hits / (2 * hits + wrong);
}

class Bgsub : public testing::Test {
  protected:
    void write_frames(const Scene& scene, int count, int first = 0) {
        std::filesystem::create_directories(folder_ / "clip/input");
        for (int i = 0; i < count; ++i) {
            write_bytes(frame(first + i), pgm(scene, first + i));
        }
    }
    path frame(int i) const { return folder_ / numbered("clip/input/in", i + 1, ".pgm"); }
    path clip() const { return folder_ / "clip"; }
    Outcome run(std::vector<std::string> arguments, const Surroundings& surroundings = {}) const {
        arguments.insert(arguments.end(), {"--device", "cpu"});
        return run_program("bgsub", arguments, surroundings);
    }
    nlohmann::json report() const { return nlohmann::json::parse(read_bytes(folder_ / "r.json")); }
    Outcome run_to_arrays(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"--out-format", "npy", "--report", folder_ / "r.json"});
        return run(arguments);
    }
    TemporaryFolder folder_;
};

TEST_F(Bgsub, FindsWhatMoves) {
    const Scene scene;
    write_frames(scene, 19);
    const Outcome outcome = run_to_arrays({clip()});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(folder_.entries(), ElementsAre("clip", "clip.background.npy", "clip.foreground.npy",
                                               "clip.mask.npy", "r.json"));
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_THAT(
        lines(outcome.out),
        ElementsAre(AllOf(StartsWith("frames"), HasSubstr("19 frames of 97x73 pixels")),
                    StartsWith("device"),
                    AllOf(StartsWith("method"), HasSubstr("robust PCA, ialm")),
                    AllOf(StartsWith("stages"), HasSubstr("rpca"), HasSubstr("write")),
                    AllOf(StartsWith("solution"), HasSubstr("residual")), StartsWith("mask"),
                    AllOf(StartsWith("result"), HasSubstr("mask.npy"))));
    const auto written = report();
    EXPECT_EQ(written["program"], "bgsub");
    EXPECT_EQ(written["parameters"]["width"], 97);
    EXPECT_LE(written["accuracy"]["residual"], 1e-5);
    EXPECT_LE(written["accuracy"]["iterations"], 60);
    EXPECT_EQ(written["sequence"]["frames"], 19);
}

TEST_F(Bgsub, ByTheMedian) {
    const Scene scene;
    write_frames(scene, 19);
    ASSERT_EQ(run_to_arrays({clip(), "--method", "median"}).status, 0);
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_FALSE(report()["accuracy"].contains("iterations"));
}

TEST_F(Bgsub, StopsAtTheFinalMask) {
    const Scene scene;
    write_frames(scene, 19);
    ASSERT_EQ(run_to_arrays({clip(), "--until", "mask"}).status, 0);
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_GT(report()["sequence"]["iterations_to_mask"], 0);
}

TEST_F(Bgsub, OfAStillVideoIsRankOneWithoutAMask) {
    write_frames({.side = 0}, 8);
    ASSERT_EQ(run_to_arrays({clip()}).status, 0);
    EXPECT_THAT(masks_in(folder_ / "clip.mask.npy", "8, 73, 97"), Each(0));
    EXPECT_EQ(report()["accuracy"]["rank"], 1);
}

TEST_F(Bgsub, TakesOneFrameAndTwo) {
    for (const int count : {1, 2}) {
        write_frames({.width = 31, .height = 17, .side = 0}, count);
        for (const auto* method : {"rpca", "median"}) {
            const Outcome outcome = run_to_arrays({clip(), "--method", method});
            ASSERT_EQ(outcome.status, 0) << outcome.error;
            const auto masks =
                masks_in(folder_ / "clip.mask.npy", std::to_string(count) + ", 17, 31");
            EXPECT_THAT(masks, SizeIs(count * 17 * 31));
            // Robust PCA takes what is bright for sparse where there are fewer frames than the
            // square of the largest level over its root mean square.
            if (method == std::string("median")) {
                EXPECT_THAT(masks, Each(0));
            }
        }
    }
}

TEST_F(Bgsub, TakesBlackFrames) {
    std::filesystem::create_directories(folder_ / "clip");
    for (int i = 0; i < 3; ++i) {
        write_bytes(folder_ / ("clip/" + std::to_string(i) + ".pgm"),
                    "P5 8 4 255\n" + std::string(32, '\0'));
    }
    const Outcome outcome = run_to_arrays({clip()});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(masks_in(folder_ / "clip.mask.npy", "3, 4, 8"), Each(0));
    EXPECT_EQ(report()["accuracy"]["rank"], 0);
}

TEST_F(Bgsub, ScalesAndTakesTheChosenFrames) {
    write_frames({}, 12);
    ASSERT_EQ(run_to_arrays({clip(), "--scale", "0.5", "--frames", "1:12:3"}).status, 0);
    EXPECT_THAT(masks_in(folder_ / "clip.mask.npy", "4, 37, 49"), SizeIs(4 * 37 * 49));
    ASSERT_EQ(run_to_arrays({clip(), "--scale", "40x30", "--color", "rgb"}).status, 0);
    EXPECT_THAT(read_bytes(folder_ / "clip.background.npy"), HasSubstr("(12, 3, 30, 40,)"));
}

TEST_F(Bgsub, WindowsGiveEveryFrameOnce) {
    const Scene scene{.step = 2};
    constexpr int frames = 38;
    write_frames(scene, frames);
    // A last window of few frames, of one, and of as many as the others.
    for (const std::vector<std::string>& windows :
         {std::vector<std::string>{"25"}, {"37"}, {"21", "4"}, {"22", "6"}, {"100"}}) {
        std::vector<std::string> arguments{clip(), "--window", windows[0]};
        if (windows.size() > 1) arguments.insert(arguments.end(), {"--overlap", windows[1]});
        const Outcome outcome = run_to_arrays(arguments);
        ASSERT_EQ(outcome.status, 0) << outcome.error;
        const auto masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        EXPECT_GT(f_measure(masks, scene, frames), 0.95) << windows[0];
        EXPECT_EQ(report()["sequence"]["windows"], windows[0] == "100" ? 1 : 2) << windows[0];
    }
}

TEST_F(Bgsub, WindowsAgreeWithTheWhole) {
    const Scene scene{.step = 2};
    constexpr std::size_t frames = 38;
    write_frames(scene, frames);
    for (const auto* solver : {"ialm", "accaltproj"}) {
        ASSERT_EQ(run_to_arrays({clip(), "--solver", solver}).status, 0);
        const auto whole_masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        const auto whole = floats_in(folder_ / "clip.background.npy");
        ASSERT_EQ(
            run_to_arrays({clip(), "--solver", solver, "--window", "25", "--overlap", "10"}).status,
            0);
        const auto masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        const auto background = floats_in(folder_ / "clip.background.npy");
        ASSERT_EQ(background.size(), frames * 73 * 97);
        double other = 0;
        double square = 0;
        for (std::size_t i = 0; i < background.size(); ++i) {
            other += masks[i] != whole_masks[i] ? 1 : 0;
            square += std::pow(background[i] - whole[i], 2);
        }
        const auto size = static_cast<double>(background.size());
        EXPECT_LE(other, 1e-3 * size) << solver;
        EXPECT_LE(std::sqrt(square / size), 2) << solver;
    }
}

TEST_F(Bgsub, ByProjections) {
    const Scene scene;
    write_frames(scene, 19);
    const Outcome outcome = run_to_arrays({clip(), "--solver", "accaltproj"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, HasSubstr("robust PCA, accaltproj, rank up to a tenth"));
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_LE(report()["accuracy"]["rank"], 2);
    EXPECT_LE(report()["accuracy"]["residual"], 1e-5);
    ASSERT_EQ(run_to_arrays({clip(), "--solver", "accaltproj", "--rank", "1"}).status, 0);
    EXPECT_EQ(report()["accuracy"]["rank"], 1);
    EXPECT_EQ(report()["parameters"]["rank"], 1);
}

TEST_F(Bgsub, FollowsOnline) {
    const Scene scene{.step = 2};
    write_frames(scene, 38);
    // Few frames after, one, and none.
    for (const auto* burn_in : {"20", "37", "38", "100"}) {
        const Outcome outcome = run_to_arrays({clip(), "--online", "--burn-in", burn_in});
        ASSERT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_THAT(outcome.error, IsEmpty());
        EXPECT_THAT(outcome.out, AllOf(HasSubstr("robust PCA, online after"),
                                       HasSubstr("38 frames of 97x73 pixels")));
        const auto masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        EXPECT_GT(f_measure(masks, scene, 38), 0.95) << burn_in;
        EXPECT_EQ(report()["sequence"]["frames"], 38);
    }
    EXPECT_EQ(report()["parameters"]["memory"], 50);
    EXPECT_FALSE(report()["sequence"].contains("windows"));
}

TEST_F(Bgsub, WritesPicturesAndHdf5) {
    write_frames({}, 3);
    ASSERT_EQ(run({clip(), "--out-format", "png", "--out", folder_ / "p"}).status, 0);
    EXPECT_THAT(folder_.entries(),
                ElementsAre("clip", "p.background", "p.foreground", "p.mask", "p.overlay"));
    for (const auto* kind : {"background", "foreground", "mask", "overlay"}) {
        std::vector<path> files;
        const auto entries =
            std::filesystem::directory_iterator(folder_ / (std::string("p.") + kind));
        for (const auto& entry : entries) files.push_back(entry.path());
        EXPECT_THAT(files, SizeIs(3)) << kind;
    }
    ASSERT_EQ(run({clip(), "--out-format", "h5", "--window", "2", "--out", folder_ / "p"}).status,
              0);
    EXPECT_THAT(read_dataset<float>(folder_ / "p.bgsub.h5", "/background").extent,
                ElementsAre(3, 1, 73, 97));
    EXPECT_THAT(read_dataset<int>(folder_ / "p.bgsub.h5", "/mask").extent, ElementsAre(3, 73, 97));
    EXPECT_EQ(text_attribute(folder_ / "p.bgsub.h5", "program"), "bgsub");
}

/// Of figures that an allocator which looks for faults changes: the preset sanitize leaves it out.
class BgsubScale : public Bgsub {};

TEST_F(BgsubScale, OnlineMemoryDoesNotGrow) {
    constexpr int frames = 2000;
    write_frames({.width = 40, .height = 30, .side = 6, .step = 0}, frames);
    const auto peak = [&](const char* last) {
        const Outcome outcome = run_to_arrays({clip(), "--online", "--frames", last});
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        return outcome.peak_bytes;
    };
    const std::int64_t few = peak(":200");
    const std::int64_t many = peak(":2000");
    EXPECT_EQ(report()["sequence"]["frames"], frames);
    // All frames would be 1,800 x 40 x 30 x (4 + 3 bytes of the frame, 9 of its results): 35 MB.
    EXPECT_LT(many, few + (3 << 20));
}

TEST_F(BgsubScale, TakesTheMemoryThatIsExpected) {
    constexpr int count = 80;
    core::Cpu cpu;
    Console console("bgsub", true);
    const Scene scene{.width = 320, .height = 240};
    write_frames(scene, count);
    const std::int64_t without = run_to_arrays({clip(), "--method", "median"}).peak_bytes;
    for (const auto& svd : svd_choices) {
        for (const auto& precision : solve_precision_choices) {
            const Outcome outcome =
                run_to_arrays({clip(), "--svd", std::string(svd.name), "--precision",
                               std::string(precision.name), "--max-iterations", "2"});
            ASSERT_EQ(outcome.status, 0) << outcome.error;
            BgsubOptions options;
            options.parameters.svd = svd.value;
            options.precision = precision.value;
            options.run.device = DeviceChoice::cpu;
            const index_t of_a_value = SeparationDevice(cpu, options, console).host_bytes();
            const auto expected =
                static_cast<double>(of_a_value * count * scene.width * scene.height);
            const auto taken = static_cast<double>(outcome.peak_bytes - without);
            // Edges of blocks, small matrices and stacks.
            constexpr double beside = 8e6;
            EXPECT_LT(taken, 1.05 * expected + beside) << svd.name << ", " << precision.name;
            EXPECT_GT(taken, 0.7 * expected - beside) << svd.name << ", " << precision.name;
        }
    }
}

TEST_F(Bgsub, TakesASingleImage) {
    write_frames({.width = 31, .height = 17, .side = 0}, 1);
    const Outcome outcome = run_to_arrays({frame(0), "--method", "median"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(masks_in(folder_ / "clip/input/in000001.mask.npy", "1, 17, 31"), Each(0));
}

TEST_F(Bgsub, KilledWhileWritingLeavesNothing) {
    const int unnamed = ::open((folder_ / "").c_str(), O_TMPFILE | O_RDWR, 0600);
    if (unnamed < 0) GTEST_SKIP() << "the file system has no files without names";
    ::close(unnamed);
    write_frames({.width = 160, .height = 120}, 60);
    const Outcome outcome = run({clip(), "--window", "10", "--out-format", "npy"},
                                {.killed_while_writing_to = folder_ / ""});
    EXPECT_EQ(outcome.status, -1);
    EXPECT_THAT(folder_.entries(), ElementsAre("clip"));
}

TEST_F(Bgsub, FullDiskLeavesNothing) {
    write_frames({}, 8);
    const Outcome outcome = run({clip(), "--out-format", "npy"}, {.file_size_limit = 5000});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("cannot write"));
    EXPECT_THAT(folder_.entries(), ElementsAre("clip"));
}

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
        BadCall{"empty_folder", {"FOLDER/empty"}, "empty: no image in this folder"},
        BadCall{"sizes", {"FOLDER/mixed"}, "2.pgm: 8x4 pixels, but "},
        BadCall{"frames_beyond", {"FOLDER/clip", "--frames", "5:9"}, "has 4 frames"},
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
                "--method median is done by a CPU alone"},
        BadCall{"gpu_projections",
                {"FOLDER/clip", "--device", "gpu", "--solver", "accaltproj"},
                "--solver accaltproj is done by a CPU alone"},
        BadCall{"gpu_online",
                {"FOLDER/clip", "--device", "gpu", "--online"},
                "--online is done by a CPU alone"},
        BadCall{"fp32_tolerance", {"FOLDER/clip", "--tolerance", "1e-7"}, "--precision fp64"},
        BadCall{"overlap", {"FOLDER/clip", "--overlap", "3"}, "--overlap needs --window"},
        BadCall{"overlap_all",
                {"FOLDER/clip", "--window", "3", "--overlap", "3"},
                "expected less than the window's 3"},
        BadCall{"repeat", {"FOLDER/clip", "--window", "3", "--repeat", "3"}, "no meaning"},
        BadCall{"median_solver",
                {"FOLDER/clip", "--method", "median", "--lambda", "1"},
                "--lambda needs --method rpca"},
        BadCall{"projected_lambda",
                {"FOLDER/clip", "--solver", "accaltproj", "--lambda", "1"},
                "--lambda needs --solver ialm or admm"},
        BadCall{"ialm_rank",
                {"FOLDER/clip", "--rank", "3"},
                "--rank needs --solver accaltproj or --online"},
        BadCall{"online_window",
                {"FOLDER/clip", "--online", "--window", "3"},
                "--window has no meaning with --online"},
        BadCall{"online_median",
                {"FOLDER/clip", "--online", "--method", "median"},
                "--online needs --method rpca"},
        BadCall{"online_rank", {"FOLDER/clip", "--online", "--rank", "17"}, "between 1 and 16"},
        BadCall{"burn_in", {"FOLDER/clip", "--burn-in", "3"}, "--burn-in needs --online"},
        BadCall{"online_memory",
                {"FOLDER/clip", "--online", "--scale", "200000x200000"},
                "--burn-in 100: "},
        BadCall{"clean", {"FOLDER/clip", "--clean", "4"}, "expected an odd number"},
        BadCall{"threshold", {"FOLDER/clip", "--threshold", "-1"}, "expected 0 or more"},
        BadCall{"threshold_nan", {"FOLDER/clip", "--threshold", "nan"}, "--threshold"},
        BadCall{"noise", {"FOLDER/clip", "--threshold", "noise:0"}, "positive number"},
        BadCall{"until",
                {"FOLDER/clip", "--until", "mask", "--threshold", "noise:3"},
                "needs a fixed --threshold"},
        BadCall{"truth", {"FOLDER/clip", "--truth", "FOLDER/empty"}, "no true mask"},
        BadCall{"out", {"FOLDER/clip", "--out", "FOLDER/none/x"}, "cannot write"},
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

#if APERTURE_OPENCV

class BgsubVideo : public Bgsub {
  protected:
    path video() const { return folder_ / "video.avi"; }
    void write_video(const Scene& scene, int frames) const {
        cv::VideoWriter writer(video().string(), cv::CAP_FFMPEG,
                               cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 12.5,
                               {scene.width, scene.height}, false);
        for (int i = 0; i < frames; ++i) {
            cv::Mat picture(scene.height, scene.width, CV_8U);
            for (int y = 0; y < scene.height; ++y) {
                for (int x = 0; x < scene.width; ++x) {
                    picture.at<std::uint8_t>(y, x) = scene.level(i, x, y);
                }
            }
            writer.write(picture);
        }
    }
};

TEST_F(BgsubVideo, WritesFourVideos) {
    const Scene scene{.width = 96, .height = 72};
    write_video(scene, 19);
    const Outcome outcome = run({video()});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(folder_.entries(),
                ElementsAre("video.avi", "video.background.mp4", "video.foreground.mp4",
                            "video.mask.mp4", "video.overlay.mp4"));
    std::vector<std::uint8_t> masks;
    media::VideoReader reader(folder_ / "video.mask.mp4");
    EXPECT_NEAR(reader.frames_per_second(), 12.5, 1e-6);
    while (const auto image = reader.next()) {
        for (index_t i = 0; i < 96 * 72; ++i) {
            masks.push_back(image->planes.data()[i] > 127 ? 255 : 0);
        }
    }
    ASSERT_THAT(masks, SizeIs(19 * 96 * 72));
    EXPECT_GT(f_measure(masks, scene, 19), 0.95);
}

TEST_F(BgsubVideo, SaysWhereItIsCutOff) {
    write_video({.width = 96, .height = 72}, 30);
    const std::string bytes = read_bytes(video());
    write_bytes(video(), bytes.substr(0, bytes.size() / 2));
    const Outcome outcome = run_to_arrays({video(), "--quiet"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const int frames = report()["sequence"]["frames"];
    EXPECT_GT(frames, 5);
    EXPECT_LT(frames, 25);
    EXPECT_THAT(outcome.error, HasSubstr("video.avi: read " + std::to_string(frames) +
                                         " of 30 frames; the file is cut off"));
}

TEST_F(BgsubVideo, TakesAVideoThatClaimsMoreThanFits) {
    write_video({.width = 96, .height = 72}, 12);
    std::string bytes = read_bytes(video());
    // The length in the stream's header, of 2^31 - 1 frames.
    bytes.replace(bytes.find("strh") + 40, 4, "\xff\xff\xff\x7f");
    write_bytes(video(), bytes);
    EXPECT_GT(media::VideoReader(video()).claimed_frames(), 1'000'000'000);
    const Outcome outcome = run_to_arrays({video(), "--method", "median"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_EQ(report()["sequence"]["frames"], 12);
}

TEST_F(BgsubVideo, MemoryIsBoundedByTheWindow) {
    const Scene scene{.width = 320, .height = 240};
    write_video(scene, 300);
    const Outcome all = run_to_arrays({video(), "--method", "median"});
    const Outcome windows = run_to_arrays({video(), "--method", "median", "--window", "20"});
    ASSERT_EQ(windows.status, 0) << windows.error;
    constexpr std::int64_t frame_bytes = 320 * 240 * (3 * 4 + 3 + 1);
    EXPECT_LT(windows.peak_bytes, all.peak_bytes - 200 * frame_bytes);
}

TEST_F(Bgsub, ScoresByTheRulesOfChangeDetection) {
    const auto highway = aperture::tests::shared_data("video/cdnet/highway");
    if (!highway) GTEST_SKIP() << "measured data not at hand (APERTURE_DATA, ../shared/data)";
    const auto f_of = [&](std::vector<std::string> arguments, int frames = 100) {
        arguments.insert(arguments.end(), {*highway, "--truth", *highway, "--out", folder_ / "h"});
        const Outcome outcome = run_to_arrays(arguments);
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_EQ(report()["sequence"]["scored_frames"], frames);
        return report()["accuracy"]["f_measure"].get<double>();
    };
    const double rpca = f_of({"--frames", "100:200"});
    EXPECT_GE(rpca, 0.90);
    EXPECT_GT(rpca, f_of({"--frames", "100:200", "--method", "median"}));
    EXPECT_GE(f_of({"--frames", "100:200", "--solver", "accaltproj"}), 0.915);
    EXPECT_GE(f_of({"--online"}, 220), 0.86);
}

#endif

}  // namespace
}  // namespace aperture::apps::tests
