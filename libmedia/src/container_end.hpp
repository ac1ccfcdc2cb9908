// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace aperture::media {

/// Length of a video file in bytes, according to its own parts: RIFF chunks of an AVI, boxes of an
/// MP4 or QuickTime file, the segment of a Matroska or WebM file. A truncated file is shorter.
/// Empty for other files, for an unreadable file, and for an unspecified size, as written by a
/// recorder that could not seek back.
std::optional<std::uint64_t> container_end(const std::filesystem::path& path);

/// Content of an AVI according to its chunks.
struct AviContent {
    std::uint64_t frames = 0;  ///< coded frames in the chunks or in the index, whichever has more
    bool damaged = false;      ///< the chunks of a list are not consecutive
};
/// Empty if the file is not an AVI.
std::optional<AviContent> avi_content(const std::filesystem::path& path);

}  // namespace aperture::media
