// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aperture/media/image_file.hpp"
#include "aperture/media/video_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {

/// The image that a file of these bytes holds.
inline Image read(const std::string& bytes) {
    const TemporaryFolder folder;
    write_bytes(folder / "image", bytes);
    return read_image(folder / "image");
}

/// The next frame of a video, or nothing at its end.
inline std::optional<Image> next_image(VideoReader& video) {
    StoredImage stored;
    if (!video.next(stored)) return std::nullopt;
    Image image;
    to_image(stored, image);
    return image;
}

inline std::vector<float> values_of(const Image& image) {
    return {image.planes.begin(), image.planes.end()};
}

}  // namespace aperture::media::tests
