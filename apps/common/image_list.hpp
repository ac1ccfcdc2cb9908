// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace aperture::apps {

/// Whether `inputs` is one folder, or one pattern with * ? [ ] that is no file's name.
bool is_folder(const std::vector<std::filesystem::path>& inputs);
bool is_pattern(const std::vector<std::filesystem::path>& inputs);

/// Whether the name's extension is that of an image.
bool is_image_name(const std::filesystem::path& file);

struct ImageList {
    std::vector<std::filesystem::path> files;
    std::string left_out;  ///< a note on results of earlier runs; empty if there are none
};

/// Lists the images of a folder, the images whose names match a pattern, or the given files as they
/// are. Folders and patterns are sorted by name, frame2 before frame10, without the programs'
/// results (media::is_output). Throws core::InvalidArgument if no image remains or a folder cannot
/// be read.
ImageList list_images(const std::vector<std::filesystem::path>& inputs);

/// The default output path. For ".flow": "video.flow" beside video.avi; "frames.flow" beside the
/// folder frames/, given by name or by its files; "flow" for files in the working directory.
std::filesystem::path default_output(const std::vector<std::filesystem::path>& inputs,
                                     const std::string& extension);

}  // namespace aperture::apps
