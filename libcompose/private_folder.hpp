// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace aperture::compose {

/// An empty folder of mode 0700 in $TMPDIR, or in /tmp where that is not an absolute path of a
/// folder that can be written. Removed with its contents.
class PrivateFolder {
  public:
    PrivateFolder();
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    ~PrivateFolder();

    /// Empty if the folder exists, or why it could not be made.
    const std::string& failure() const { return failure_; }
    const std::filesystem::path& path() const { return path_; }
    /// Writes a file, whose name may have folders in it. Returns nothing, or why it failed.
    std::string write(const std::string& name, std::string_view contents) const;

  private:
    std::filesystem::path path_;
    std::string failure_;
};

}  // namespace aperture::compose
