// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "aperture/media/atomic_file.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

/// What a video keeps of its frames.
enum class VideoCoding {
    /// MP4: H.264 where OpenCV's FFmpeg has an encoder for it, else MPEG-4. Levels change a little,
    /// and the resolution of colours is halved.
    lossy,
    /// Matroska: FFV1, which every FFmpeg has. Black and white are there as they were, other greys
    /// to a level; colours become grey.
    lossless_grey,
};

/// Writes a video that appears whole or not at all (see AtomicFile). The numbers of rows and of
/// columns have to be even: where one is odd, the last row or column is there twice.
///
/// Every failure throws core::InvalidArgument "NAME: cannot write: REASON".
class VideoWriter {
  public:
    /// A video of `width` x `height` pixels; without a frame rate (0) it has 25 frames a second.
    /// Throws in a build without OpenCV, too.
    VideoWriter(const std::filesystem::path& target, int width, int height,
                double frames_per_second, VideoCoding coding = VideoCoding::lossy);
    ~VideoWriter();
    VideoWriter(VideoWriter&&) noexcept;
    VideoWriter& operator=(VideoWriter&&) noexcept;

    /// The next frame, which must have the size of the video.
    void write(const Picture& frame);
    /// Completes the video, which is to be committed, and sees that all frames are in it; a video
    /// has one frame at least. Nothing can be written afterwards.
    AtomicFile finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::media
