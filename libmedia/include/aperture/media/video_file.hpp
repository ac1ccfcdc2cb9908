// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "aperture/media/image_file.hpp"

namespace aperture::media {

/// Reads a video frame by frame: all containers and codecs of OpenCV's FFmpeg, or without it AVI
/// with Motion JPEG. Applies an orientation in the metadata.
class VideoReader {
  public:
    /// Throws core::InvalidArgument with one line "NAME: REASON" if the file is missing, not a
    /// regular file or no video, and in a build without OpenCV.
    explicit VideoReader(const std::filesystem::path& path);
    ~VideoReader();

    /// Reads the next frame, red, green and blue with 8 bits, to `image`, reusing its memory;
    /// returns false at the end. Skips frames that cannot be decoded; hundreds in a row count as
    /// the end. Whether that was the video's true end follows from `cut_off` and `stored_frames`.
    bool next(StoredImage& image);
    /// Skips a frame; returns false if there is none.
    bool skip();
    /// Number of frames according to the container, 0 if it has none. An estimate: even an intact
    /// video may have fewer or more.
    core::index_t claimed_frames() const;
    /// Number of coded frames in the file, whether or not they can be decoded; 0 if it cannot be
    /// determined. For AVI from its chunks and index, independent of FFmpeg. Reads the whole file.
    /// Some encoders (MPEG-4 in AVI) store up to two that are never shown.
    core::index_t stored_frames() const;
    /// Whether `stored_frames` comes from an AVI's own structure; the container's claim is then
    /// irrelevant.
    bool is_avi() const;
    /// Whether an AVI's chunks are not consecutive, so that frames may be missing.
    bool damaged() const;
    /// Whether the file is shorter than the sizes stated by its parts; false if they state none.
    bool cut_off() const;
    /// According to the container; 0 if it has none.
    double frames_per_second() const;

  private:
    struct State;
    std::filesystem::path path_;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::media
