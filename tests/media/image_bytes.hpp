// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/media/image_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {

/// The image that a file of these bytes holds.
inline Image read(const std::string& bytes) {
    const TemporaryFolder folder;
    write_bytes(folder / "image", bytes);
    return read_image(folder / "image");
}

inline std::vector<float> values_of(const Image& image) {
    return {image.planes.begin(), image.planes.end()};
}

}  // namespace aperture::media::tests
