// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "aperture/media/image_file.hpp"

namespace aperture::media {

/// Reads a video frame by frame, whatever containers and codecs OpenCV's FFmpeg knows, and AVI with
/// Motion JPEG without it. An orientation in the metadata is applied.
class VideoReader {
  public:
    /// Throws core::InvalidArgument with one line "NAME: REASON" for what is missing, no regular
    /// file or no video, and in a build without OpenCV.
    explicit VideoReader(const std::filesystem::path& path);
    ~VideoReader();
    VideoReader(VideoReader&&) noexcept;
    VideoReader& operator=(VideoReader&&) noexcept;

    /// The next frame, red, green and blue of 8 bits; nothing at the end, and where the next frame
    /// cannot be decoded: damage and end look alike.
    std::optional<Image> next();
    /// Passes over a frame; false where there is none.
    bool skip();
    /// How many frames the container claims, 0 where it does not say; an estimate.
    core::index_t claimed_frames() const;
    /// As the container says; 0 where it does not.
    double frames_per_second() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::media
