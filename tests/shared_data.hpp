// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace aperture::tests {

/// A file of measured data: below the folder that the environment variable APERTURE_DATA names,
/// else below ../shared/data beside the repository. Nothing where it is absent; the test then skips
/// with a message that says so.
inline std::optional<std::filesystem::path> shared_data(std::string_view relative) {
    const char* folder = std::getenv("APERTURE_DATA");
    const auto repository = std::filesystem::path(__FILE__).parent_path().parent_path();
    const std::filesystem::path root = folder != nullptr
                                           ? std::filesystem::path(folder)
                                           : repository.parent_path() / "shared" / "data";
    const std::filesystem::path file = root / relative;
    if (!std::filesystem::exists(file)) return std::nullopt;
    return file;
}

}  // namespace aperture::tests
