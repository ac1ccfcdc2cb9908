// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Messages about videos that are incomplete or whose container has wrong metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/common/frames.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#endif

namespace aperture::apps::tests {
namespace {

using aperture::tests::TemporaryFolder;
using media::tests::read_bytes;
using media::tests::write_bytes;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(FrameReader, TakesOneImageForASequence) {
    const TemporaryFolder folder;
    write_bytes(folder / "a.pgm", "P5 4 3 255\n" + std::string(12, '\x20'));
    FrameReader reader({folder / "a.pgm"}, {});
    EXPECT_FALSE(reader.is_video());
    EXPECT_EQ(reader.expected(), 1);
    EXPECT_EQ(reader.at_most(), 1);
    Frame frame;
    ASSERT_TRUE(reader.next(frame));
    EXPECT_EQ(frame.image.width, 4);
    EXPECT_EQ(frame.image.height, 3);
    EXPECT_EQ(std::get<0>(frame.image.samples), std::vector<std::uint8_t>(12, 32));
    EXPECT_FALSE(reader.next(frame));
    EXPECT_EQ(reader.loss(), "");
}

#if APERTURE_OPENCV

constexpr int frames = 30;

/// The bytes of a Motion JPEG video with frames of noise.
std::string video_bytes(const TemporaryFolder& folder, const std::string& name) {
    const std::string file = folder / name;
    {
        cv::VideoWriter writer(file, cv::CAP_FFMPEG, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'),
                               25, {96, 72}, false);
        cv::RNG random(3);
        for (int i = 0; i < frames; ++i) {
            cv::Mat picture(72, 96, CV_8U);
            random.fill(picture, cv::RNG::UNIFORM, 0, 256);
            writer.write(picture);
        }
    }
    return read_bytes(file);
}

/// Sets the frame count in an AVI's main header and in its stream header.
void claim(std::string& avi, std::uint8_t count) {
    for (const auto& [header, offset] :
         {std::pair<const char*, std::size_t>{"avih", 24}, {"strh", 40}}) {
        const std::size_t at = avi.find(header);
        ASSERT_NE(at, std::string::npos);
        avi.replace(at + offset, 4, {static_cast<char>(count), '\0', '\0', '\0'});
    }
}

struct Reading {
    core::index_t frames = 0;
    std::string loss;
};

Reading read_all(const std::filesystem::path& file, const FrameRange& range = {}) {
    FrameReader reader({file}, range);
    Reading reading;
    Frame frame;
    while (reader.next(frame)) ++reading.frames;
    reading.loss = reader.loss();
    return reading;
}

TEST(FrameReader, BelievesAWholeVideoWhateverItClaims) {
    const TemporaryFolder folder;
    const std::string whole = video_bytes(folder, "whole.avi");
    EXPECT_EQ(read_all(folder / "whole.avi").loss, "");
    for (const std::uint8_t count : {0, 29, 31, 200}) {
        std::string bytes = whole;
        claim(bytes, count);
        write_bytes(folder / "a.avi", bytes);
        const Reading reading = read_all(folder / "a.avi");
        // If fewer frames are claimed, FFmpeg reads no more than that, or a few more.
        if (count == 0 || count > frames) {
            EXPECT_EQ(reading.frames, frames) << int{count};
        }
        EXPECT_EQ(reading.loss, "") << int{count};
    }
}

TEST(FrameReader, SaysThatAVideoIsCutOffWhateverItClaims) {
    const TemporaryFolder folder;
    const std::string whole = video_bytes(folder, "whole.avi");
    for (const std::uint8_t count : {0, 30, 200}) {
        std::string bytes = whole.substr(0, whole.size() / 2);
        claim(bytes, count);
        write_bytes(folder / "a.avi", bytes);
        const Reading reading = read_all(folder / "a.avi");
        EXPECT_GT(reading.frames, 10) << int{count};
        EXPECT_LT(reading.frames, 20) << int{count};
        const std::string of = count > 0 ? " of " + std::to_string(count) : "";
        EXPECT_EQ(reading.loss,
                  "read " + std::to_string(reading.frames) + of + " frames; the file is truncated");
        // No loss is reported if all requested frames were read.
        EXPECT_EQ(read_all(folder / "a.avi", {.last = 5}).loss, "") << int{count};
    }
}

TEST(FrameReader, KnowsTheEndOfMatroska) {
    const TemporaryFolder folder;
    const std::string whole = video_bytes(folder, "whole.mkv");
    const Reading reading = read_all(folder / "whole.mkv");
    EXPECT_EQ(reading.frames, frames);
    EXPECT_EQ(reading.loss, "");
    write_bytes(folder / "cut.mkv", whole.substr(0, whole.size() / 2));
    EXPECT_THAT(read_all(folder / "cut.mkv").loss,
                AllOf(StartsWith("read "), HasSubstr("frames; the file is truncated")));
}

TEST(FrameReader, TellsDamageFromTheEnd) {
    const TemporaryFolder folder;
    std::string bytes = video_bytes(folder, "whole.avi");
    // Damages the contents of the chunks of five frames.
    std::size_t at = bytes.find("movi");
    for (int i = 0; i < 15; ++i) {
        at = bytes.find("00dc", at + 4);
        ASSERT_NE(at, std::string::npos);
        if (i >= 10) bytes.replace(at + 8, 1000, 1000, '\0');
    }
    write_bytes(folder / "a.avi", bytes);
    const Reading reading = read_all(folder / "a.avi");
    EXPECT_EQ(reading.frames, frames - 5);
    EXPECT_EQ(reading.loss, "read 25 frames; 5 more cannot be decoded, and numbering skips them");
}

TEST(FrameReader, TellsDamagedHeadersOfChunks) {
    const TemporaryFolder folder;
    const std::string whole = video_bytes(folder, "whole.avi");
    const auto chunk = [](const std::string& bytes, int number) {
        std::size_t at = bytes.find("movi");
        for (int i = 0; i <= number; ++i) at = bytes.find("00dc", at + 4);
        return at;
    };
    std::string bytes = whole;
    for (const int number : {10, 11, 12, 13, 14, 15}) {
        bytes.replace(chunk(whole, number), 8, "\x01\x02\x03\x04\x05\x06\x07\x08");
    }
    write_bytes(folder / "a.avi", bytes);
    const Reading reading = read_all(folder / "a.avi");
    EXPECT_LT(reading.frames, frames - 2);
    EXPECT_EQ(reading.loss, "read " + std::to_string(reading.frames) + " frames; " +
                                std::to_string(frames - reading.frames) +
                                " more cannot be decoded, and numbering skips them");
    // Without the index, missing frames are still detected, but not their number.
    bytes.replace(bytes.rfind("idx1"), 4, "JUNK");
    write_bytes(folder / "b.avi", bytes);
    EXPECT_THAT(read_all(folder / "b.avi").loss, HasSubstr("the file is damaged"));
}

TEST(FrameReader, TellsAClaimThatIsTooSmall) {
    const TemporaryFolder folder;
    std::string bytes = video_bytes(folder, "whole.avi");
    claim(bytes, 10);
    write_bytes(folder / "a.avi", bytes);
    const Reading reading = read_all(folder / "a.avi");
    if (reading.frames < frames - 2) {
        EXPECT_THAT(reading.loss,
                    HasSubstr(std::to_string(frames - reading.frames) + " more cannot be decoded"));
    } else {
        EXPECT_EQ(reading.loss, "");
    }
}

TEST(FrameReader, CountsWhatIsInTheFile) {
    const TemporaryFolder folder;
    std::string bytes = video_bytes(folder, "a.avi");
    claim(bytes, 200);
    write_bytes(folder / "a.avi", bytes);
    const FrameReader reader({folder / "a.avi"}, {3, std::nullopt, 2});
    EXPECT_EQ(reader.expected(), 99);
    EXPECT_EQ(reader.at_most(), 14);
}

#endif

}  // namespace
}  // namespace aperture::apps::tests
