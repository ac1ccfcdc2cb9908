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

    /// The next frame, red, green and blue of 8 bits; nothing at the end. Frames that cannot be
    /// decoded are passed over, of hundreds in a row the rest is: `cut_off` and `stored_frames` say
    /// whether the end was that of the video.
    std::optional<Image> next();
    /// Passes over a frame; false where there is none.
    bool skip();
    /// How many frames the container claims, 0 where it does not say; an estimate, which a whole
    /// video may fall short of or exceed.
    core::index_t claimed_frames() const;
    /// How many coded frames the file holds, whether or not they can be decoded; 0 where that
    /// cannot be found out. Of an AVI by its chunks and its index, whatever FFmpeg finds. Reads all
    /// of the file. Some encoders (MPEG-4 in AVI) store up to two that are never shown.
    core::index_t stored_frames() const;
    /// Whether `stored_frames` are those of an AVI's own structure, on which a claim has no say.
    bool is_avi() const;
    /// Whether the chunks of an AVI do not follow one another, so that frames may be missing.
    bool damaged() const;
    /// Whether the file ends before its parts do by the sizes that they state; false where they
    /// state none.
    bool cut_off() const;
    /// As the container says; 0 where it does not.
    double frames_per_second() const;

  private:
    struct State;
    std::filesystem::path path_;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::media
