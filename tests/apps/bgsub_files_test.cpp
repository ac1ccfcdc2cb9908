// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub as a user runs it: the files it reads, writes and keeps.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "aperture/media/image_file.hpp"
#include "aperture/media/video_file.hpp"
#include "tests/apps/bgsub_clip.hpp"
#include "tests/apps/image_pairs.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#endif

namespace aperture::apps::tests {
namespace {

using core::index_t;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(Bgsub, WritesPicturesAndHdf5) {
    write_frames({}, 3);
    const std::vector<std::string> all{"--save", "background,foreground,mask,overlay"};
    ASSERT_EQ(run(joined({clip(), "--out-format", "png", "--out", folder_ / "p"}, all)).status, 0);
    EXPECT_THAT(folder_.entries(),
                ElementsAre("clip", "p.background", "p.foreground", "p.mask", "p.overlay"));
    for (const auto* kind : {"background", "foreground", "mask", "overlay"}) {
        EXPECT_THAT(folder_.entries(std::string("p.") + kind), SizeIs(3)) << kind;
    }
    ASSERT_EQ(
        run(joined({clip(), "--out-format", "h5", "--window", "2", "--out", folder_ / "p"}, all))
            .status,
        0);
    EXPECT_THAT(read_dataset<float>(folder_ / "p.bgsub.h5", "/background").extent,
                ElementsAre(3, 1, 73, 97));
    EXPECT_THAT(read_dataset<int>(folder_ / "p.bgsub.h5", "/mask").extent, ElementsAre(3, 73, 97));
    EXPECT_THAT(read_dataset<int>(folder_ / "p.bgsub.h5", "/overlay").extent,
                ElementsAre(3, 73, 97, 3));
    EXPECT_EQ(text_attribute(folder_ / "p.bgsub.h5", "program"), "bgsub");
}

TEST_F(Bgsub, WritesWhatIsAskedFor) {
    write_frames({}, 3);
    ASSERT_EQ(run({clip(), "--out-format", "npy", "--out", folder_ / "p"}).status, 0);
    EXPECT_THAT(folder_.entries(), ElementsAre("clip", "p.mask.npy", "p.overlay.npy"));
    EXPECT_THAT(read_bytes(folder_ / "p.overlay.npy"), HasSubstr("(3, 73, 97, 3,)"));
    ASSERT_EQ(
        run({clip(), "--out-format", "png", "--save", "foreground", "--out", folder_ / "q"}).status,
        0);
    ASSERT_EQ(run({clip(), "--out-format", "h5", "--save", "mask", "--out", folder_ / "q"}).status,
              0);
    EXPECT_THAT(folder_.entries(),
                ElementsAre("clip", "p.mask.npy", "p.overlay.npy", "q.bgsub.h5", "q.foreground"));
    EXPECT_FALSE(has_dataset(folder_ / "q.bgsub.h5", "/background"));
    EXPECT_FALSE(has_dataset(folder_ / "q.bgsub.h5", "/overlay"));
    for (const auto* wrong : {"", "mask,", "mask,mask", "masks"}) {
        const Outcome refused = run({clip(), "--save", wrong});
        EXPECT_EQ(refused.status, 1) << wrong;
        EXPECT_THAT(refused.error, HasSubstr("--save ")) << wrong;
    }
}

// The masks fit under the limit, the other arrays do not.
TEST_F(Bgsub, LeavesNoFileIfOneCannotBeWritten) {
    write_frames({}, 38);
    for (const auto* format : {"npy", "h5"}) {
        const Outcome outcome =
            run({clip(), "--window", "10", "--save", "background,mask", "--out-format", format},
                {.file_size_limit = 500'000});
        EXPECT_EQ(outcome.status, 1);
        EXPECT_THAT(lines(outcome.error), SizeIs(1));
        EXPECT_THAT(outcome.error, HasSubstr("cannot write: file too large"));
        EXPECT_THAT(folder_.entries(), ElementsAre("clip"));
    }
}

#if APERTURE_OPENCV
TEST_F(Bgsub, SaysHowManyPicturesThereAreIfOneCannotBeWritten) {
    write_frames({.step = 0}, 10);
    // Noise, whose pictures do not fit under the limit.
    write_frames({.side = 0}, 10, 10);
    std::minstd_rand noise(1);
    std::string bytes = pgm({}, 0);
    for (std::size_t i = bytes.size() - 73 * 97; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(noise() >> 8);
    }
    write_bytes(frame(13), bytes);
    const Outcome outcome = run({clip(), "--window", "10", "--method", "median", "--out-format",
                                 "png", "--save", "mask,foreground", "--out", folder_ / "p"},
                                {.file_size_limit = 7'000});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("p.foreground/000013"));
    EXPECT_THAT(outcome.error, HasSubstr("; the pictures of 13 frames are in "));
    EXPECT_THAT(folder_.entries("p.foreground"), SizeIs(13));
}
#endif

/// Runs in windows whose pictures are kept.
class BgsubResume : public Bgsub {
  protected:
    static constexpr int frames = 38;
    void SetUp() override { write_frames({.side = 16, .step = 2}, frames); }
    Outcome run_again(const std::vector<std::string>& more = {}) const {
        return run(joined({clip(), "--window", "15", "--overlap", "4", "--out-format", "png",
                           "--out", folder_ / "p", "--resume", "--report", folder_ / "r.json"},
                          more));
    }
    path mask(int i) const { return folder_ / numbered("p.mask/", i, picture_extension); }
    int kept() const { return report()["results"]["kept_windows"]; }
};

TEST_F(BgsubResume, LeavesOutWindowsThatAreThere) {
    // Frames 0 to 12, 13 to 23, 24 to 34, and 35 to 37.
    ASSERT_EQ(run_again().status, 0);
    EXPECT_EQ(kept(), 0);
    EXPECT_EQ(report()["results"]["windows"], 4);
    const double moving = report()["results"]["moving"];
    const std::string before = read_bytes(mask(13));
    std::filesystem::remove(mask(13));
    write_bytes(folder_ / numbered("p.overlay/", 30, picture_extension),
                read_bytes(folder_ / numbered("p.overlay/", 30, picture_extension)).substr(0, 500));
    const auto first = std::filesystem::last_write_time(mask(12));
    ASSERT_EQ(run_again().status, 0);
    EXPECT_EQ(kept(), 2);
    EXPECT_EQ(std::filesystem::last_write_time(mask(12)), first);
    EXPECT_EQ(read_bytes(mask(13)), before);
    ASSERT_EQ(run_again().status, 0);
    EXPECT_EQ(kept(), 4);
    EXPECT_EQ(report()["results"]["moving"], moving);
    EXPECT_EQ(report()["results"]["frames"], frames);
}

TEST_F(BgsubResume, NeedsPicturesOfMasks) {
    EXPECT_THAT(run({clip(), "--resume"}).error, HasSubstr("--resume requires --out-format png"));
    EXPECT_THAT(run({clip(), "--resume", "--out-format", "png", "--save", "overlay"}).error,
                HasSubstr("--resume requires the mask among --save"));
    EXPECT_THAT(run({clip(), "--resume", "--out-format", "png", "--online"}).error,
                HasSubstr("--resume cannot be combined with --method online"));
}

TEST_F(BgsubResume, ComputesAgainWithOtherOptions) {
    ASSERT_EQ(run_again().status, 0);
    ASSERT_EQ(run_again({"--threshold", "20"}).status, 0);
    EXPECT_EQ(kept(), 0);
    ASSERT_EQ(run_again({"--threshold", "20", "--frames", ":30"}).status, 0);
    EXPECT_EQ(kept(), 0);
}

TEST_F(BgsubResume, AfterAFrameThatCannotBeRead) {
    write_bytes(frame(29), "no image");
    const Outcome broken = run_again();
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(lines(broken.error), SizeIs(1));
    EXPECT_THAT(broken.error, HasSubstr("in000030.pgm: "));
    // The third window ends before the broken frame.
    EXPECT_THAT(broken.error, HasSubstr("; the pictures of 27 frames are in "));
    EXPECT_THAT(folder_.entries("p.mask"), SizeIs(27));
    write_frames({.side = 16, .step = 2}, 1, 29);
    ASSERT_EQ(run_again().status, 0);
    EXPECT_EQ(kept(), 2);
    EXPECT_THAT(folder_.entries("p.mask"), SizeIs(frames));
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
    const Outcome outcome = run({video(), "--save", "overlay,mask,foreground,background"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(folder_.entries(),
                ElementsAre("video.avi", "video.background.mp4", "video.foreground.mp4",
                            "video.mask.mkv", "video.overlay.mp4"));
    ASSERT_EQ(run_to_arrays({video(), "--out", folder_ / "n"}).status, 0);
    std::vector<std::uint8_t> masks;
    media::VideoReader reader(folder_ / "video.mask.mkv");
    EXPECT_NEAR(reader.frames_per_second(), 12.5, 1e-6);
    media::StoredImage image;
    while (reader.next(image)) {
        const auto& samples = std::get<std::vector<std::uint8_t>>(image.samples);
        for (std::size_t i = 0; i < samples.size(); i += 3) {
            ASSERT_TRUE(samples[i] == 0 || samples[i] == 255) << int{samples[i]};
            masks.push_back(samples[i]);
        }
    }
    EXPECT_EQ(masks, masks_in(folder_ / "n.mask.npy", "19, 72, 96"));
    EXPECT_GT(f_measure(masks, scene, 19), 0.95);
}

TEST_F(BgsubVideo, OfOneFrameIsRefused) {
    write_video({.width = 96, .height = 72}, 1);
    const Outcome outcome = run({video()});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("video.avi: 1 frame, but at least 2 are required"));
    EXPECT_THAT(folder_.entries(), ElementsAre("video.avi"));
}

TEST_F(BgsubVideo, WindowsToHdf5HoldEveryFrame) {
    write_video({.width = 96, .height = 72}, 25);
    const Outcome outcome = run({video(), "--out-format", "h5", "--save", "background,mask",
                                 "--window", "10", "--out", folder_ / "p"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    ASSERT_EQ(run_to_arrays({video(), "--window", "10", "--out", folder_ / "n"}).status, 0);
    const auto masks = read_dataset<int>(folder_ / "p.bgsub.h5", "/mask");
    EXPECT_THAT(masks.extent, ElementsAre(25, 72, 96));
    const auto expected = masks_in(folder_ / "n.mask.npy", "25, 72, 96");
    EXPECT_TRUE(
        std::equal(masks.values.begin(), masks.values.end(), expected.begin(), expected.end()));
    EXPECT_EQ(read_dataset<float>(folder_ / "p.bgsub.h5", "/background").values,
              floats_in(folder_ / "n.background.npy"));
}

TEST_F(BgsubVideo, SaysWhereItIsCutOff) {
    write_video({.width = 96, .height = 72}, 30);
    const std::string bytes = read_bytes(video());
    write_bytes(video(), bytes.substr(0, bytes.size() / 2));
    const Outcome outcome = run_to_arrays({video(), "--quiet"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const int frames = report()["results"]["frames"];
    EXPECT_GT(frames, 5);
    EXPECT_LT(frames, 25);
    EXPECT_THAT(outcome.error, HasSubstr("video.avi: read " + std::to_string(frames) +
                                         " of 30 frames; the file is truncated"));
}

TEST_F(BgsubVideo, TakesAVideoThatClaimsMoreThanFits) {
    write_video({.width = 96, .height = 72}, 12);
    std::string bytes = read_bytes(video());
    // The header of the stream claims 2^31 - 1 frames.
    bytes.replace(bytes.find("strh") + 40, 4, "\xff\xff\xff\x7f");
    write_bytes(video(), bytes);
    EXPECT_GT(media::VideoReader(video()).claimed_frames(), 1'000'000'000);
    const Outcome outcome = run_to_arrays({video(), "--method", "median"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_EQ(report()["results"]["frames"], 12);
}

TEST_F(BgsubVideo, MemoryIsBoundedByTheWindow) {
    const Scene scene{.width = 320, .height = 240};
    write_video(scene, 300);
    const Outcome all = run_to_arrays({video(), "--method", "median"});
    const Outcome windows = run_to_arrays({video(), "--method", "median", "--window", "20"});
    ASSERT_EQ(windows.status, 0) << windows.error;
    constexpr std::int64_t frame_bytes = 320 * 240 * (3 * 4 + 1);
    EXPECT_LT(windows.peak_bytes, all.peak_bytes - 200 * frame_bytes);
}

#endif

}  // namespace
}  // namespace aperture::apps::tests
