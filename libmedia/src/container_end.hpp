// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace aperture::media {

/// How many bytes a video file has by the sizes that its own parts state: RIFF chunks of an AVI,
/// boxes of an MP4 or QuickTime file, the segment of a Matroska or WebM file. Fewer are there where
/// it was cut off. Nothing for other files, for a file that cannot be read, and where a size is
/// left open, as by a recorder that could not go back to fill it in.
std::optional<std::uint64_t> container_end(const std::filesystem::path& path);

/// What the chunks of an AVI hold.
struct AviContent {
    std::uint64_t frames = 0;  ///< coded frames, by the chunks or by the index, whichever has more
    bool damaged = false;      ///< the chunks of a list do not follow one another
};
/// Nothing where the file is no AVI.
std::optional<AviContent> avi_content(const std::filesystem::path& path);

}  // namespace aperture::media
