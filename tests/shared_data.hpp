// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace aperture::tests {

/// A file of measured data: below the folder that the environment variable APERTURE_DATA names,
/// else below shared/data beside the repository, which is looked for from the working directory
/// upwards. Nothing where it is absent; the test then skips with a message that says so.
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
