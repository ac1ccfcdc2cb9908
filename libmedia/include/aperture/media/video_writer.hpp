// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "aperture/media/picture.hpp"

namespace aperture::media {

/// Writes an MP4 video, H.264 where OpenCV's FFmpeg has an encoder for it, else MPEG-4, that
/// appears whole or not at all (see AtomicFile). Both halve the resolution of colours, and need an
/// even number of rows and of columns: where it is odd, the last one is there twice.
///
/// Every failure throws core::InvalidArgument "NAME: cannot write: REASON".
class VideoWriter {
  public:
    /// A video of `width` x `height` pixels; without a frame rate (0) it has 25 frames a second.
    /// Throws in a build without OpenCV, too.
    VideoWriter(const std::filesystem::path& target, int width, int height,
                double frames_per_second);
    ~VideoWriter();
    VideoWriter(VideoWriter&&) noexcept;
    VideoWriter& operator=(VideoWriter&&) noexcept;

    /// The next frame, which must have the size of the video.
    void write(const Picture& frame);
    /// Completes the video and gives it its name, once all frames are known to be in it; a video
    /// has one frame at least. Nothing can be written afterwards.
    void commit();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::media
