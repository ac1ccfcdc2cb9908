// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace aperture::media {

/// The system's error text in lower case: "no space left on device".
std::string system_text(int error_number);

/// Throws InvalidArgument "NAME: no such file" or similar unless `path` is a readable regular file.
void expects_readable(const std::filesystem::path& path);

/// The bytes of a file.
std::string read_whole(const std::filesystem::path& path);

}  // namespace aperture::media
