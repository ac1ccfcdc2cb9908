// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "aperture/core/error.hpp"
#include "libmedia/src/input_file.hpp"
#include "libmedia/src/write_back.hpp"

namespace aperture::media {
namespace {

namespace fs = std::filesystem;

std::string random_suffix() {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device source;
    std::string suffix;
    while (suffix.size() < 6) suffix += letters[source() % letters.size()];
    return suffix;
}

fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

bool is_missing(const fs::path& path) {
    std::error_code error;
    return fs::symlink_status(path, error).type() == fs::file_type::not_found;
}

/// The nearest existing folder above `file`; folders created below are on its file system.
fs::path existing_folder(const fs::path& file) {
    fs::path folder = folder_of(file);
    while (is_missing(folder)) folder = folder_of(folder);
    return folder;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : shown_(target.string()), target_(target) {
    core::expects(!target.filename().empty(), "'", shown_, "': cannot write: not a file name");
    std::error_code error;
    if (fs::is_symlink(target, error)) {
        const fs::path real = fs::weakly_canonical(target, error);
        if (!error) target_ = real;
    }
    const fs::file_status status = fs::status(target_, error);
    core::expects(!fs::is_directory(status), shown_, ": cannot write: is a directory");
    core::expects(!fs::exists(status) || fs::is_regular_file(status), shown_,
                  ": cannot write: not a regular file");
    if (fs::exists(status) && ::access(target_.c_str(), W_OK) != 0) fail(errno);
    const fs::path folder = existing_folder(target_);
    open_unnamed(folder);
    if (descriptor_ < 0) open_hidden(folder);
    if (fs::exists(status) &&
        ::fchmod(descriptor_, static_cast<mode_t>(status.permissions() & fs::perms::mask)) != 0) {
        const int error_number = errno;
        discard();
        fail(error_number);
    }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : shown_(std::move(other.shown_)),
      target_(std::move(other.target_)),
      partial_(std::move(other.partial_)),
      made_folders_(std::move(other.made_folders_)),
      named_(other.named_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      waiting_(other.waiting_) {}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    descriptor_ = -1;
    if (named_) ::unlink(partial_.c_str());
    for (; !made_folders_.empty(); made_folders_.pop_back()) {
        ::rmdir(made_folders_.back().c_str());  // only if empty
    }
}

fs::path AtomicFile::hidden_name(const fs::path& folder) const {
    return folder / core::text('.', target_.filename().string(), ".partial-", random_suffix());
}

void AtomicFile::open_unnamed(const fs::path& folder) {
    descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ < 0) return;
    partial_ = core::text("/proc/self/fd/", descriptor_);
    std::error_code error;
    if (fs::exists(partial_, error)) return;
    ::close(descriptor_);
    descriptor_ = -1;
}

void AtomicFile::open_hidden(const fs::path& folder) {
    do {
        partial_ = hidden_name(folder);
        descriptor_ = ::open(partial_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) fail(errno);
    named_ = true;
}

void AtomicFile::sync() {
    core::expects(descriptor_ >= 0, shown_, ": committed twice");
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
}

/// Gives the file a hidden name: only a named file can replace another. Creates missing folders.
void AtomicFile::link_hidden_name() {
    for (fs::path folder = folder_of(target_); is_missing(folder); folder = folder_of(folder)) {
        made_folders_.insert(made_folders_.begin(), folder);
    }
    for (const fs::path& folder : made_folders_) {
        // Another program may create it concurrently.
        if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) fail(errno);
    }
    if (named_) return;
    fs::path name;
    int status = 0;
    do {
        name = hidden_name(folder_of(target_));
        status = ::linkat(AT_FDCWD, partial_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
    } while (status != 0 && errno == EEXIST);
    if (status != 0) fail(errno);
    partial_ = name;
    named_ = true;
}

void AtomicFile::rename_to_target() {
    if (::rename(partial_.c_str(), target_.c_str()) != 0) fail(errno);
    ::close(descriptor_);
    descriptor_ = -1;
}

/// The new name is durable once its folder is; some file systems do not support or need that.
void AtomicFile::sync_folder() const {
    const int opened = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened >= 0) {
        ::fsync(opened);
        ::close(opened);
    }
}

void AtomicFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
        start_write_back(descriptor_, static_cast<std::size_t>(written), waiting_);
    }
}

void AtomicFile::commit() {
    sync();
    link_hidden_name();
    rename_to_target();
    sync_folder();
}

void AtomicFile::commit_unsynced() {
    link_hidden_name();
    rename_to_target();
}

void AtomicFile::fail(int error_number) const {
    throw core::InvalidArgument(core::text(shown_, ": cannot write: ", system_text(error_number)));
}

OutputSet::~OutputSet() {
    // In reverse order: a file may be in a folder that an earlier one created.
    while (!files_.empty()) files_.pop_back();
}

void OutputSet::add(AtomicFile file) {
    file.sync();
    files_.push_back(std::move(file));
}

void OutputSet::commit() {
    // Steps that a full disk or missing permissions can stop come before the first final name.
    for (AtomicFile& file : files_) file.link_hidden_name();
    for (AtomicFile& file : files_) file.rename_to_target();
    for (const AtomicFile& file : files_) file.sync_folder();
    files_.clear();
}

void sync_file_system(const fs::path& folder) {
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int status = opened < 0 ? -1 : ::syncfs(opened);
    const int error_number = errno;
    if (opened >= 0) ::close(opened);
    core::expects(status == 0, folder.string(), ": cannot write: ", system_text(error_number));
}

AtomicFile new_file(const fs::path& target, std::string_view contents) {
    AtomicFile file(target);
    file.write(contents);
    return file;
}

void write_file(const fs::path& target, std::string_view contents) {
    new_file(target, contents).commit();
}

bool same_file(const fs::path& a, const fs::path& b) {
    std::error_code error;
    return fs::equivalent(a, b, error) ||
           fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

void expects_distinct(const fs::path& input, const fs::path& output) {
    core::expects(!same_file(input, output), output.string(), ": cannot write: it is the input");
}

}  // namespace aperture::media
