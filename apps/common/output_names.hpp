// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aperture/core/view.hpp"

namespace aperture::apps {

/// Whether the name's extension is that of a picture.
bool is_picture_name(const std::filesystem::path& file);
/// Returns the final name of the picture, which differs in a build that writes only PNM. Throws if
/// `file` cannot be written as a picture.
std::filesystem::path picture_name(const std::string& option, const std::filesystem::path& file);

/// "FOLDER/000012.flo"
std::filesystem::path numbered_file(const std::filesystem::path& folder, core::index_t number,
                                    const char* extension);

/// Inputs or outputs of a run; those that are not requested are empty.
using Files = std::vector<std::optional<std::filesystem::path>>;

/// Throws core::InvalidArgument before the computation if an output would replace an input or
/// another output or cannot be written.
void check_output_files(const Files& inputs, const Files& outputs);

/// Throws core::InvalidArgument if two folders are the same, or if one contains one of `frames`,
/// whose names results could have, or cannot be written to. Missing folders are created with their
/// first file.
void check_output_folders(const Files& folders, const std::vector<std::filesystem::path>& frames);

}  // namespace aperture::apps
