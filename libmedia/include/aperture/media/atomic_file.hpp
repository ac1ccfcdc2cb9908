// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace aperture::media {

/// An output file that appears whole or not at all: it grows beside its target and takes the
/// target's name, replacing what stood there, on `commit()`. Until then it has no name, so that
/// nothing is left of it even where the program is killed; on a file system that has no files
/// without names, and without /proc, it has a hidden one (".NAME.partial-XXXXXX"), which the
/// destructor removes. A symbolic link is followed, so that its file is replaced and not the link.
/// A file that replaces another has its permissions. Folders that are missing on the way to the
/// target are made by the commit, and not before.
///
/// Every failure throws core::InvalidArgument "NAME: cannot write: no space left on device" or the
/// like, the target being untouched.
class AtomicFile {
  public:
    /// Creates the partial file. The target may exist only as a regular file.
    explicit AtomicFile(const std::filesystem::path& target);
    ~AtomicFile();
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// Appends bytes.
    void write(std::string_view bytes);
    /// Makes the bytes durable (fsync) and gives the file its name. Once only.
    void commit();

    /// Where the bytes stand until the commit, for writers that need a path (of this process: it
    /// may be one below /proc/self) or a descriptor (open for reading and writing, and closed by
    /// this object).
    const std::filesystem::path& partial() const { return partial_; }
    int descriptor() const { return descriptor_; }
    /// Throws the error of this file with the words of the system for `error_number`.
    [[noreturn]] void fail(int error_number) const;

  private:
    friend class OutputSet;
    std::filesystem::path hidden_name(const std::filesystem::path& folder) const;
    void open_unnamed(const std::filesystem::path& folder);
    void open_hidden(const std::filesystem::path& folder);
    void sync();
    void take_hidden_name();
    void take_name();
    void discard() noexcept;

    std::string shown_;  ///< the target as the caller wrote it
    std::filesystem::path target_;
    std::filesystem::path partial_;
    std::vector<std::filesystem::path> made_folders_;  ///< by a commit that is not over
    bool named_ = false;
    int descriptor_ = -1;
};

/// The outputs of one run: they appear together, or none does. A file takes its name only when all
/// of them are complete and on the disk.
class OutputSet {
  public:
    OutputSet() = default;
    ~OutputSet();
    OutputSet(const OutputSet&) = delete;
    OutputSet& operator=(const OutputSet&) = delete;

    /// A file to which all has been written. Makes its bytes durable.
    void add(AtomicFile file);
    /// Gives all files their names. Once only.
    void commit();

  private:
    std::vector<AtomicFile> files_;
};

/// A file of `contents` that is not committed yet.
AtomicFile new_file(const std::filesystem::path& target, std::string_view contents);
/// Writes `contents` to `target` through an AtomicFile.
void write_file(const std::filesystem::path& target, std::string_view contents);

/// Throws InvalidArgument where `output` names the same file as `input`: input is never written.
void expects_distinct(const std::filesystem::path& input, const std::filesystem::path& output);

}  // namespace aperture::media
