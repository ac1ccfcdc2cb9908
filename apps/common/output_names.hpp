// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aperture/core/view.hpp"

namespace aperture::apps {

/// Whether the name's extension is that of a picture.
bool is_picture_name(const std::filesystem::path& file);
/// Returns the final name of the picture, which differs in a build that writes only PNM. Throws if
/// `file` cannot be written as a picture.
std::filesystem::path picture_name(const std::string& option, std::filesystem::path file);

/// Whether both paths name one file, which need not exist.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// "FOLDER/000012.flo"
std::filesystem::path numbered_file(const std::filesystem::path& folder, core::index_t number,
                                    const char* extension);

/// Throws core::InvalidArgument if a folder contains one of `frames`, whose names results could
/// have, or cannot be written to. Missing folders are created with their first file.
void check_output_folders(const std::vector<std::filesystem::path>& folders,
                          const std::vector<std::filesystem::path>& frames);

/// Throws core::InvalidArgument before the computation if an output would replace an input or
/// another output or cannot be written.
void check_output_files(const std::vector<std::filesystem::path>& inputs,
                        const std::vector<std::filesystem::path>& outputs);

}  // namespace aperture::apps
