// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// oflow as a user runs it on sequences: what it reads, in which order, writes, prints and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "aperture/media/flow_figure.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/image_file.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/frames.hpp"
#include "tests/apps/image_pairs.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#endif

namespace aperture::apps::tests {
namespace {

using aperture::tests::TemporaryFolder;
using core::index_t;
using media::tests::read_bytes;
using media::tests::write_bytes;
using std::filesystem::path;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// Motion per frame of a test's sequence, in pixels.
constexpr double pan_u = 1.5;
constexpr double pan_v = -0.5;

double mean(const core::Array<float, 3>& flow, index_t plane) {
    double sum = 0;
    const auto [planes, rows, columns] = flow.extent();
    for (index_t y = 10; y < rows - 10; ++y) {
        for (index_t x = 10; x < columns - 10; ++x) sum += flow(plane, y, x);
    }
    return sum / static_cast<double>((rows - 20) * (columns - 20));
}

class OflowSequence : public testing::Test {
  protected:
    /// Writes frames/f8.pgm, frames/f9.pgm, frames/f10.pgm, ...
    void write_frames(int count) {
        std::filesystem::create_directory(folder_ / "frames");
        for (int i = 0; i < count; ++i) {
            write_texture(frame(i), {.width = 64, .height = 48}, -i * pan_u, -i * pan_v);
        }
    }
    path frame(int i) const { return folder_ / ("frames/f" + std::to_string(i + 8) + ".pgm"); }
    Outcome run(const std::vector<std::string>& arguments) const {
        return run_program("oflow", joined(arguments, {"--device", "cpu"}));
    }
    void expect_flow(const std::string& file, double frames = 1) const {
        const auto flow = media::read_flow(folder_ / file);
        EXPECT_NEAR(mean(flow, 0), frames * pan_u, 0.1) << file;
        EXPECT_NEAR(mean(flow, 1), frames * pan_v, 0.1) << file;
    }
    TemporaryFolder folder_;
};

TEST_F(OflowSequence, OfAFolderInTheOrderOfItsNumbers) {
    write_frames(4);
    write_bytes(folder_ / "frames/notes.txt", "no image");
    write_bytes(folder_ / "frames/.f9.pgm.partial", "no frame");
    const Outcome outcome = run({folder_ / "frames/"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(folder_.entries(), ElementsAre("frames", "frames.flow"));
    if (have_figures) {
        EXPECT_THAT(folder_.entries("frames.flow"),
                    ElementsAre("000000.flo", "000000.flow.png", "000001.flo", "000001.flow.png",
                                "000002.flo", "000002.flow.png"));
    }
    for (const auto* file : {"000000", "000001", "000002"}) {
        expect_flow(std::string("frames.flow/") + file + ".flo");
    }
    EXPECT_THAT(
        lines(outcome.out),
        ElementsAre(
            AllOf(StartsWith("frames"), HasSubstr("4 frames, 64x48 pixels")), StartsWith("device"),
            StartsWith("method"),
            AllOf(StartsWith("stages"), HasSubstr("read"), HasSubstr("solve"), HasSubstr("write")),
            AllOf(StartsWith("compute"), HasSubstr("ms a pair")),
            AllOf(StartsWith("sequence"), HasSubstr("3 pairs in"),
                  HasSubstr("2 started from the previous flow")),
            AllOf(StartsWith("motion"), HasSubstr(have_figures ? "full saturation at" : "largest")),
            AllOf(StartsWith("result"), HasSubstr("000000.flo to"), HasSubstr("000002.flo"))));
}

TEST_F(OflowSequence, OfAPatternTakesTheChosenFrames) {
    write_frames(7);
    const Outcome outcome = run({folder_ / "frames/f*.pgm", "--out", folder_ / "out/", "--frames",
                                 "1:6:2", "--no-picture", "--quiet"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(folder_.entries("out"), ElementsAre("000001.flo", "000003.flo"));
    expect_flow("out/000001.flo", 2);
    expect_flow("out/000003.flo", 2);
}

TEST_F(OflowSequence, OfAListKeepsItsOrder) {
    write_frames(3);
    ASSERT_EQ(run({frame(2), frame(1), frame(0), "--out", folder_ / "out", "--no-picture"}).status,
              0);
    expect_flow("out/000000.flo", -1);
    expect_flow("out/000001.flo", -1);
}

TEST_F(OflowSequence, OfTwoImagesWhereOutNamesAFolder) {
    write_frames(2);
    ASSERT_EQ(run({frame(0), frame(1), "--out", folder_ / "out/", "--no-picture"}).status, 0);
    EXPECT_THAT(folder_.entries("out"), ElementsAre("000000.flo"));
}

TEST_F(OflowSequence, FirstPairIsThatOfTwoImages) {
    write_frames(3);
    ASSERT_EQ(run({folder_ / "frames", "--no-picture"}).status, 0);
    ASSERT_EQ(run({frame(0), frame(1), "--no-picture"}).status, 0);
    EXPECT_EQ(read_bytes(folder_ / "frames.flow/000000.flo"),
              read_bytes(folder_ / "frames/f8.flo"));
}

TEST_F(OflowSequence, DrawsAllPicturesOnOneScale) {
    if (!have_figures || !APERTURE_OPENCV) GTEST_SKIP() << "built without Cairo or OpenCV";
    write_frames(3);
    // The last pair moves twice as far.
    write_texture(frame(2), {.width = 64, .height = 48}, -3 * pan_u, -3 * pan_v);
    ASSERT_EQ(run({folder_ / "frames", "--report", folder_ / "r.json"}).status, 0);
    const auto report = read_json(folder_ / "r.json");
    const double largest = report["results"]["largest_motion"];
    EXPECT_NEAR(largest, 2 * std::hypot(pan_u, pan_v), 0.8);
    for (const std::string file : {"frames.flow/000000", "frames.flow/000001"}) {
        const auto flow = media::read_flow(folder_ / (file + ".flo"));
        const auto wanted = media::flow_figure(flow, largest).pixels();
        const auto drawn = media::read_image(folder_ / (file + ".flow.png"));
        EXPECT_EQ(media::to_picture(drawn.planes).pixels, wanted.pixels) << file;
    }
}

TEST_F(OflowSequence, DrawsArrowsForEachPair) {
    if (!have_figures) GTEST_SKIP() << "built without Cairo";
    write_frames(3);
    ASSERT_EQ(run({folder_ / "frames", "--no-picture", "--arrows", folder_ / "arrows"}).status, 0);
    EXPECT_THAT(folder_.entries("arrows"), ElementsAre("000000.png", "000001.png"));
}

TEST_F(OflowSequence, WritesAFileOfEachKindForEachPair) {
    write_frames(3);
    const Outcome outcome =
        run({folder_ / "frames", "--max-motion", "2", "--warped", folder_ / "warped",
             "--consistency", folder_ / "masks/deep", "--report", folder_ / "r.json"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr(have_figures ? "full saturation at 2" : "largest"),
                                   HasSubstr("consistent")));
    for (const auto* kind : {"warped", "masks/deep"}) {
        const std::string extension = picture_extension;
        EXPECT_THAT(folder_.entries(kind), ElementsAre("000000" + extension, "000001" + extension));
    }
    const auto report = read_json(folder_ / "r.json");
    EXPECT_EQ(report["program"], "oflow");
    EXPECT_EQ(report["parameters"]["width"], 64);
    EXPECT_EQ(report["parameters"]["solver"], "redblack");
    EXPECT_GT(report["results"]["consistent"], 80);
    EXPECT_EQ(report["results"]["pairs"], 2);
    EXPECT_EQ(report["results"]["warm_starts"], 1);
    EXPECT_GT(report["results"]["pairs_per_second"], 0);
    std::vector<std::string> names;
    for (const auto& stage : report["stages"]) names.push_back(stage["name"]);
    EXPECT_THAT(names, ElementsAre("read", "pyramid", "warp", "derivatives", "solve", "median",
                                   "backward", "write"));
}

TEST_F(OflowSequence, StartsAnewWhereTheFlowBeforeDoesNotHelp) {
    write_frames(6);
    // A cut, followed by a repeated frame.
    for (const int i : {3, 4}) {
        write_texture(frame(i), {.width = 64, .height = 48}, 700, 300);
    }
    write_texture(frame(5), {.width = 64, .height = 48}, 700 - pan_u, 300 - pan_v);
    ASSERT_EQ(run({folder_ / "frames", "--no-picture", "--report", folder_ / "r.json"}).status, 0);
    const auto report = read_json(folder_ / "r.json");
    EXPECT_EQ(report["results"]["pairs"], 5);
    EXPECT_LE(report["results"]["warm_starts"], 2);
    const auto still = media::read_flow(folder_ / "frames.flow/000003.flo");
    EXPECT_THAT(std::vector<float>(still.begin(), still.end()), testing::Each(0.0F));
    expect_flow("frames.flow/000004.flo");
}

TEST_F(OflowSequence, ThatBreaksOffKeepsWhatItHas) {
    write_frames(4);
    write_texture(frame(2), {.width = 65, .height = 48}, 0, 0);
    const Outcome outcome = run({folder_ / "frames", "--max-motion", "2"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(lines(outcome.error), SizeIs(1));
    EXPECT_THAT(outcome.error, HasSubstr("f10.pgm: 65x48 pixels, but "));
    EXPECT_THAT(outcome.error, HasSubstr("f8.pgm has 64x48"));
    std::vector<std::string> files{"000000.flo"};
    if (have_figures) files.emplace_back("000000.flow.png");
    EXPECT_EQ(folder_.entries("frames.flow"), files);
}

TEST_F(OflowSequence, FindsTheSameOnHoweverManyThreads) {
    write_frames(3);
    run({folder_ / "frames", "--threads", "1", "--no-picture"});
    const std::string once = read_bytes(folder_ / "frames.flow/000001.flo");
    run({folder_ / "frames", "--threads", "3", "--no-picture"});
    EXPECT_EQ(read_bytes(folder_ / "frames.flow/000001.flo"), once);
}

TEST(DefaultFolder, StandsBesideTheFrames) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "v1.2");
    const auto folder_for = [](const std::vector<path>& inputs) {
        return default_output(inputs, ".flow");
    };
    EXPECT_EQ(folder_for({"a/video.avi"}), "a/video.flow");
    EXPECT_EQ(folder_for({"a/b/x?.png"}), "a/b.flow");
    EXPECT_EQ(folder_for({"a/b/1.png", "a/b/2.png", "a/b/3.png"}), "a/b.flow");
    EXPECT_EQ(folder_for({"1.png", "2.png", "3.png"}), "flow");
    EXPECT_EQ(folder_for({"./*.png"}), "./flow");
    EXPECT_EQ(folder_for({folder / "v1.2"}), folder / "v1.2.flow");
    EXPECT_EQ(folder_for({folder / "v1.2/"}), folder / "v1.2.flow");
}

TEST(ParseFrames, TakesOpenEnds) {
    const FrameRange open = parse_frames("5:");
    EXPECT_EQ(open.first, 5);
    EXPECT_FALSE(open.last.has_value());
    EXPECT_EQ(open.step, 1);
    const FrameRange begin = parse_frames(":20:3");
    EXPECT_EQ(begin.first, 0);
    EXPECT_EQ(begin.last, 20);
    EXPECT_EQ(begin.step, 3);
}

#if APERTURE_OPENCV

class OflowVideo : public OflowSequence {
  protected:
    /// Writes the frames as a Motion JPEG AVI.
    void write_video(int count) {
        write_frames(count);
        cv::VideoWriter writer(video(), cv::CAP_OPENCV_MJPEG,
                               cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {64, 48});
        for (int i = 0; i < count; ++i) {
            const auto image = media::read_image(frame(i));
            cv::Mat stored(48, 64, CV_8UC3);
            for (int y = 0; y < 48; ++y) {
                for (int x = 0; x < 64; ++x) {
                    stored.at<cv::Vec3b>(y, x) =
                        cv::Vec3b::all(static_cast<std::uint8_t>(image.planes(0, y, x)));
                }
            }
            writer.write(stored);
        }
    }
    std::string video() const { return folder_ / "video.avi"; }
};

TEST_F(OflowVideo, IsASequence) {
    write_video(5);
    const Outcome outcome = run({video()});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(outcome.out,
                AllOf(HasSubstr("5 frames, 64x48 pixels, 8 bits colour"), HasSubstr("4 pairs")));
    EXPECT_THAT(folder_.entries("video.flow"), SizeIs(8));
    expect_flow("video.flow/000003.flo");
}

TEST_F(OflowVideo, TakesTheChosenFrames) {
    write_video(7);
    ASSERT_EQ(run({video(), "--frames", "2::2", "--no-picture"}).status, 0);
    EXPECT_THAT(folder_.entries("video.flow"), ElementsAre("000002.flo", "000004.flo"));
    expect_flow("video.flow/000002.flo", 2);
    expect_flow("video.flow/000004.flo", 2);
}

TEST_F(OflowVideo, SaysWhereItEndsEarly) {
    write_video(4);
    const Outcome outcome = run({video(), "--frames", "0:100", "--no-picture"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.error, HasSubstr("video.avi: read 4 of 100 frames"));
    const Outcome single = run({video(), "--frames", "3:100", "--no-picture"});
    EXPECT_EQ(single.status, 1);
    EXPECT_THAT(single.error, HasSubstr("video.avi: found a single frame"));
    const Outcome none = run({video(), "--frames", "30:100", "--no-picture"});
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.error, HasSubstr("video.avi: found no frame; optical flow requires two"));
}

TEST_F(OflowVideo, IsRefusedWhereItIsNone) {
    write_video(4);
    const std::string bytes = read_bytes(video());
    for (const std::string& damaged :
         {std::string("no video"), bytes.substr(0, 100), bytes.substr(0, 0)}) {
        write_bytes(video(), damaged);
        const Outcome outcome = run({video()});
        EXPECT_EQ(outcome.status, 1);
        EXPECT_THAT(lines(outcome.error), SizeIs(1));
        EXPECT_THAT(outcome.error, HasSubstr("oflow: error: " + video() + ": "));
    }
    EXPECT_THAT(folder_.entries(), ElementsAre("frames", "video.avi"));
}

#else

TEST_F(OflowSequence, OfAVideoNeedsOpenCv) {
    write_bytes(folder_ / "video.avi", "RIFF");
    const Outcome outcome = run({folder_ / "video.avi"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("video.avi: a video requires a build with OpenCV"));
}

#endif

}  // namespace
}  // namespace aperture::apps::tests
