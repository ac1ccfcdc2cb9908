// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aperture/core/error.hpp"
#include "aperture/media/video_file.hpp"
#include "tests/media/image_bytes.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#endif

namespace aperture::media::tests {
namespace {

using testing::HasSubstr;

std::string refusal(const std::filesystem::path& file) {
    try {
        const VideoReader reader(file);
    } catch (const core::InvalidArgument& error) {
        return error.what();
    }
    return "not refused";
}

TEST(VideoReader, RefusesWhatIsNoFile) {
    const TemporaryFolder folder;
    EXPECT_THAT(refusal(folder / "none.avi"), HasSubstr("none.avi: no such file"));
    EXPECT_THAT(refusal(folder / ""), HasSubstr("is a directory"));
}

#if APERTURE_OPENCV

constexpr int columns = 48;
constexpr int rows = 32;

/// Frame i is of one colour: red 10 i, green 100, blue 200.
void write_video(const std::filesystem::path& file, int frames) {
    cv::VideoWriter writer(file.string(), cv::CAP_OPENCV_MJPEG,
                           cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {columns, rows});
    for (int i = 0; i < frames; ++i) {
        writer.write(cv::Mat(rows, columns, CV_8UC3, cv::Scalar(200, 100, 10 * i)));
    }
}

void expect_frame(const std::optional<Image>& image, int i) {
    ASSERT_TRUE(image.has_value());
    EXPECT_EQ(image->planes.extent(), (core::Extents<3>{3, rows, columns}));
    EXPECT_EQ(image->bits, 8);
    EXPECT_NEAR(image->planes(0, 5, 7), 10 * i, 6);
    EXPECT_NEAR(image->planes(1, 5, 7), 100, 6);
    EXPECT_NEAR(image->planes(2, 5, 7), 200, 6);
}

TEST(VideoReader, GivesOneFrameAfterTheOther) {
    const TemporaryFolder folder;
    write_video(folder / "a.avi", 4);
    VideoReader reader(folder / "a.avi");
    EXPECT_EQ(reader.claimed_frames(), 4);
    for (int i = 0; i < 4; ++i) expect_frame(next_image(reader), i);
    EXPECT_FALSE(next_image(reader).has_value());
    EXPECT_FALSE(reader.skip());
}

TEST(VideoReader, PassesOverFrames) {
    const TemporaryFolder folder;
    write_video(folder / "a.avi", 5);
    VideoReader reader(folder / "a.avi");
    EXPECT_TRUE(reader.skip());
    expect_frame(next_image(reader), 1);
    EXPECT_TRUE(reader.skip());
    EXPECT_TRUE(reader.skip());
    expect_frame(next_image(reader), 4);
    EXPECT_FALSE(reader.skip());
}

TEST(VideoReader, RefusesWhatIsNoVideo) {
    const TemporaryFolder folder;
    write_bytes(folder / "a.avi", "text, and not much of it\n");
    EXPECT_THAT(refusal(folder / "a.avi"), HasSubstr("a.avi: not a video, or a damaged one"));
    write_bytes(folder / "a.avi", "");
    EXPECT_THAT(refusal(folder / "a.avi"), HasSubstr("a.avi: not a video, or a damaged one"));
}

TEST(VideoReader, EndsWhereTheFileDoes) {
    const TemporaryFolder folder;
    write_video(folder / "a.avi", 6);
    const std::string bytes = read_bytes(folder / "a.avi");
    for (const double share : {0.9, 0.7, 0.5}) {
        const auto length = static_cast<std::size_t>(share * static_cast<double>(bytes.size()));
        write_bytes(folder / "b.avi", bytes.substr(0, length));
        std::optional<VideoReader> reader;
        try {
            reader.emplace(folder / "b.avi");
        } catch (const core::InvalidArgument&) {
            continue;
        }
        int frames = 0;
        while (frames < 100 && next_image(*reader)) ++frames;
        EXPECT_LE(frames, 6);
    }
}

#else

TEST(VideoReader, NeedsOpenCv) {
    const TemporaryFolder folder;
    write_bytes(folder / "a.avi", "RIFF");
    EXPECT_THAT(refusal(folder / "a.avi"), HasSubstr("a video requires a build with OpenCV"));
}

#endif

}  // namespace
}  // namespace aperture::media::tests
