// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace aperture::media {

/// An output file that appears completely or not at all: `commit()` moves it to its target and
/// replaces an existing file there. Until then it has no name, so that nothing remains even if the
/// program is killed. On file systems without unnamed files, or without /proc, it has a hidden name
/// (".NAME.partial-XXXXXX"), which the destructor removes. A symbolic link is followed: its target
/// is replaced, not the link. A replaced file's permissions are kept. Missing folders of the target
/// are created by the commit, not earlier.
///
/// Every failure throws core::InvalidArgument "NAME: cannot write: no space left on device" or
/// similar, with the target unchanged.
class AtomicFile {
  public:
    /// Creates the partial file. An existing target must be a regular file.
    explicit AtomicFile(const std::filesystem::path& target);
    ~AtomicFile();
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// Appends bytes.
    void write(std::string_view bytes);
    /// Makes the bytes durable (fsync).
    void sync();
    /// Makes the bytes durable and gives the file its name. Call once.
    void commit();
    /// Gives the file its name at once. It is whole for every reader, but after a failure of power
    /// only if `sync_file_system` has been called. For files by the thousand: a disk takes
    /// milliseconds to make one durable. Call once.
    void commit_unsynced();

    /// The partial file, for writers that need a path (valid in this process only: it may be below
    /// /proc/self) or a descriptor (open for reading and writing, closed by this object).
    const std::filesystem::path& partial() const { return partial_; }
    int descriptor() const { return descriptor_; }
    /// Throws this file's error with the system's text for `error_number`.
    [[noreturn]] void fail(int error_number) const;

  private:
    friend class OutputSet;
    std::filesystem::path hidden_name(const std::filesystem::path& folder) const;
    void open_unnamed(const std::filesystem::path& folder);
    void open_hidden(const std::filesystem::path& folder);
    void link_hidden_name();
    void rename_to_target();
    void sync_folder() const;
    void discard() noexcept;

    std::string shown_;  ///< the target as the caller wrote it
    std::filesystem::path target_;
    std::filesystem::path partial_;
    std::vector<std::filesystem::path> made_folders_;  ///< by an unfinished commit
    bool named_ = false;
    int descriptor_ = -1;
    std::size_t waiting_ = 0;  ///< bytes that the system may not have begun to write to the disk
};

/// The outputs of one run: all appear together, or none. Files get their names only when all of
/// them are complete and on disk.
class OutputSet {
  public:
    OutputSet() = default;
    ~OutputSet();
    OutputSet(const OutputSet&) = delete;
    OutputSet& operator=(const OutputSet&) = delete;

    /// Adds a completely written file and makes its bytes durable.
    void add(AtomicFile file);
    /// Gives all files their names. Call once.
    void commit();

  private:
    std::vector<AtomicFile> files_;
};

/// Makes everything durable that was written to the file system of the folder.
void sync_file_system(const std::filesystem::path& folder);

/// Returns an uncommitted file with `contents`.
AtomicFile new_file(const std::filesystem::path& target, std::string_view contents);
/// Writes `contents` to `target` through an AtomicFile.
void write_file(const std::filesystem::path& target, std::string_view contents);

/// Whether both paths name one file, which need not exist.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);
/// Throws InvalidArgument if `output` is the same file as `input`: input is never overwritten.
void expects_distinct(const std::filesystem::path& input, const std::filesystem::path& output);

}  // namespace aperture::media
