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

/// Whether an image is to be expected by the name's extension.
bool is_image_name(const std::filesystem::path& file);

struct ImageList {
    std::vector<std::filesystem::path> files;
    std::string left_out;  ///< a note on results of earlier runs; empty where there are none
};

/// The images of a folder, those whose names match a pattern, or the files of a list as they are.
/// Of folders and patterns in the order of the names, frame2 before frame10, and without the
/// results of programs (media::is_output). Throws core::InvalidArgument where nothing is left, and
/// for a folder that cannot be read.
ImageList list_images(const std::vector<std::filesystem::path>& inputs);

/// Where results go unless told otherwise: for ".flow", "video.flow" beside video.avi,
/// "frames.flow" beside the folder frames/, whether it is named or some of its files are; "flow" in
/// the working directory for files there.
std::filesystem::path default_output(const std::vector<std::filesystem::path>& inputs,
                                     const std::string& extension);

}  // namespace aperture::apps
