// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "aperture/core/kernel_text.hpp"

namespace aperture::core {

/// FNV-1a, 64 bits; `state` is the hash of what comes before. Not for texts of an adversary.
std::uint64_t text_hash(std::string_view bytes, std::uint64_t state = 0xcbf29ce484222325u);

/// The same of the names and texts of files.
std::uint64_t text_hash(std::span<const std::span<const KernelText>> libraries);

/// The user's folder of machine code that was compiled at run time, shared by processes. It only
/// saves time: what cannot be read is compiled again, what cannot be written is not kept, and
/// neither is an error.
class CacheFolder {
  public:
    /// $XDG_CACHE_HOME/aperture, or ~/.cache/aperture where that variable is empty or a relative
    /// path; created with mode 0700 if it is missing. Empty if APERTURE_CACHE is "off", or if the
    /// folder cannot be created, is a symbolic link, is another user's, or if its group or others
    /// may write to it: code from there would be run.
    static std::optional<CacheFolder> open();

    /// The contents that were written for `identity`: a text of any length that says all that the
    /// contents depend on. Empty if there are none, or if their file is damaged or, because
    /// hashes are equal, that of another identity. Counts as a use of the file.
    std::optional<std::string> read(const std::string& extension, std::string_view identity) const;

    /// Keeps contents, which appear completely or not at all, in place of those that the identity
    /// had. The first write of a process then prunes the folder to 256 MB.
    void write(const std::string& extension, std::string_view identity,
               std::string_view contents) const;

    /// The file for an identity: a hash of the identity, with `extension` (".so"). The contents
    /// stand first, so that loaders that ignore what follows (dlopen) can take it after a `read`.
    std::filesystem::path path(const std::string& extension, std::string_view identity) const;

    /// For files of other kinds, in folders of their own: those are not pruned.
    const std::filesystem::path& folder() const { return folder_; }

    /// Removes the files that were not used for the longest time until the rest has `most_bytes`.
    /// Other processes may read, write and prune meanwhile.
    void prune(std::uintmax_t most_bytes) const;

  private:
    explicit CacheFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::filesystem::path folder_;
};

}  // namespace aperture::core
