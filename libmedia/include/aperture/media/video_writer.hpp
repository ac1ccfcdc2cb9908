// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "aperture/core/owned.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

/// Colours and fidelity of a video.
enum class VideoCoding {
    /// In colour. MP4: H.264 if FFmpeg has x264, else MPEG-4. Levels change slightly, and chroma
    /// has half resolution. An odd last row or column is there twice.
    lossy,
    /// Grey levels, which are exact. Matroska: JPEG-LS (ISO/IEC 14495-1), in every FFmpeg.
    lossless_grey,
};

/// Memory of an encoder per pixel of a frame, in bytes, an upper bound of what was measured from
/// 480 x 360 to 960 x 720 pixels with up to eight threads. Encoders keep tens of frames.
constexpr core::index_t encoder_bytes_per_pixel(VideoCoding coding) {
    return coding == VideoCoding::lossy ? 250 : 200;
}

/// Writes a video that appears completely or not at all (see AtomicFile). The same frames give the
/// same bytes.
///
/// Every failure throws core::InvalidArgument "NAME: cannot write: REASON".
class VideoWriter {
  public:
    /// A video of `width` x `height` pixels; a frame rate of 0 means 25 frames a second. Also
    /// throws in a build without OpenCV.
    VideoWriter(const std::filesystem::path& target, int width, int height,
                double frames_per_second, VideoCoding coding = VideoCoding::lossy);

    /// The next frame, which must have the size of the video: of a lossy one a picture, of a grey
    /// one levels [row][column].
    void write(const Picture& frame);
    void write(core::View<const std::uint8_t, 2, core::Host> levels);
    /// Completes and returns the uncommitted video, which must have at least one frame. Nothing can
    /// be written afterwards.
    AtomicFile finish();

  private:
    struct State;
    core::Owned<State> state_;
};

}  // namespace aperture::media
