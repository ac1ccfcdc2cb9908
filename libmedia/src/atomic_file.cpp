// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5.hpp"

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

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : shown_(target.string()), target_(target) {
    core::expects(!target.filename().empty(), "'", shown_,
                  "': cannot write: not the name of a file");
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
    open_unnamed();
    if (descriptor_ < 0) open_hidden();
}

AtomicFile::~AtomicFile() { discard(); }

fs::path AtomicFile::hidden_name() const {
    return target_.parent_path() /
           core::text('.', target_.filename().string(), ".partial-", random_suffix());
}

void AtomicFile::open_unnamed() {
    descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ < 0) return;
    partial_ = core::text("/proc/self/fd/", descriptor_);
    std::error_code error;
    if (fs::exists(partial_, error)) return;
    ::close(descriptor_);
    descriptor_ = -1;
}

void AtomicFile::open_hidden() {
    do {
        partial_ = hidden_name();
        descriptor_ = ::open(partial_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) fail(errno);
    named_ = true;
}

/// A link cannot replace a file, which only a file with a name can.
void AtomicFile::take_hidden_name() {
    fs::path name;
    int status = 0;
    do {
        name = hidden_name();
        status = ::linkat(AT_FDCWD, partial_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
    } while (status != 0 && errno == EEXIST);
    if (status != 0) fail(errno);
    partial_ = name;
    named_ = true;
}

void AtomicFile::discard() noexcept {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    descriptor_ = -1;
    if (named_) ::unlink(partial_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void AtomicFile::commit() {
    core::expects(descriptor_ >= 0, shown_, ": committed twice");
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
    if (!named_) take_hidden_name();
    if (::rename(partial_.c_str(), target_.c_str()) != 0) fail(errno);
    ::close(descriptor_);
    descriptor_ = -1;
    // The new name is durable once its folder is; some file systems cannot, and need not, do that.
    const int opened = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened >= 0) {
        ::fsync(opened);
        ::close(opened);
    }
}

void AtomicFile::fail(int error_number) const {
    throw core::InvalidArgument(core::text(shown_, ": cannot write: ", system_text(error_number)));
}

void write_file(const fs::path& target, std::string_view contents) {
    AtomicFile file(target);
    file.write(contents);
    file.commit();
}

void expects_distinct(const fs::path& input, const fs::path& output) {
    std::error_code error;
    const bool same = fs::equivalent(input, output, error) ||
                      fs::weakly_canonical(input, error) == fs::weakly_canonical(output, error);
    core::expects(!same, output.string(), ": cannot write: it is the input");
}

}  // namespace aperture::media
