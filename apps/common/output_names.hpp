// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aperture/core/view.hpp"

namespace aperture::apps {

/// Whether `file` is called as a picture is.
bool is_picture_name(const std::filesystem::path& file);
/// Throws where `file` cannot be written as a picture; returns the name that it gets, which is
/// another one in a build that writes PNM only.
std::filesystem::path picture_name(const std::string& option, std::filesystem::path file);

/// Whether both name one file, which need not be there.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// "FOLDER/000012.flo"
std::filesystem::path numbered_file(const std::filesystem::path& folder, core::index_t number,
                                    const char* extension);

/// Throws core::InvalidArgument where a folder holds one of `frames`, whose names results could
/// have, and where nothing can be written into one. Folders that are not there are made with their
/// first file.
void check_output_folders(const std::vector<std::filesystem::path>& folders,
                          const std::vector<std::filesystem::path>& frames);

/// Throws core::InvalidArgument where an output would replace an input or another output, or cannot
/// be written where it is to be: before the long work, not after it.
void check_output_files(const std::vector<std::filesystem::path>& inputs,
                        const std::vector<std::filesystem::path>& outputs);

}  // namespace aperture::apps
