// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace aperture::tests {

/// The path of a file of measured data, or nothing if the file does not exist; the test then skips.
/// The data are in the folder that the environment variable APERTURE_DATA names, otherwise in
/// shared/data of the working directory or of a folder above it.
inline std::optional<std::filesystem::path> shared_data(std::string_view relative) {
    using std::filesystem::path;
    const auto found = [](const path& file) -> std::optional<path> {
        if (!std::filesystem::exists(file)) return std::nullopt;
        return file;
    };
    if (const char* folder = std::getenv("APERTURE_DATA")) return found(path(folder) / relative);
    for (path folder = std::filesystem::current_path();; folder = folder.parent_path()) {
        if (auto file = found(folder / "shared" / "data" / relative)) return file;
        if (folder == folder.parent_path()) return std::nullopt;
    }
}

}  // namespace aperture::tests
