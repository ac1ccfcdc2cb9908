// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/cache_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <system_error>
#include <vector>

#include "aperture/core/error.hpp"

namespace aperture::core {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_cached_bytes = 256u << 20;

std::string digits(std::uint64_t number) {
    std::ostringstream stream;
    stream << std::hex << std::setw(16) << std::setfill('0') << number;
    return stream.str();
}

/// What follows the contents in a file: the identity, its length, and a checksum of all before.
std::string tail(std::string_view contents, std::string_view identity) {
    const std::string its = text(identity, digits(identity.size()));
    return its + digits(text_hash(its, text_hash(contents)));
}

/// An open file.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    explicit operator bool() const { return number_ >= 0; }
    int number() const { return number_; }

  private:
    int number_;
};

/// All bytes of a file that is not larger than the cache.
std::optional<std::string> bytes_of(const Descriptor& file) {
    struct stat status {};
    if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uintmax_t>(status.st_size) > most_cached_bytes) {
        return std::nullopt;
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t read = 0; read < bytes.size();) {
        const ssize_t count = ::read(file.number(), bytes.data() + read, bytes.size() - read);
        if (count <= 0) return std::nullopt;
        read += static_cast<std::size_t>(count);
    }
    return bytes;
}

bool write_all(const Descriptor& file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(file.number(), bytes.data(), bytes.size());
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

std::uint64_t text_hash(std::string_view bytes, std::uint64_t state) {
    for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return state;
}

std::uint64_t text_hash(std::span<const std::span<const KernelText>> libraries) {
    std::uint64_t hash = text_hash(std::string_view());
    const auto add = [&hash](std::string_view text) {
        hash = text_hash(text, text_hash(digits(text.size()), hash));
    };
    for (const auto& library : libraries) {
        for (const KernelText& file : library) {
            add(file.name);
            add(file.text);
        }
    }
    return hash;
}

std::optional<CacheFolder> CacheFolder::open() {
    if (variable("APERTURE_CACHE") == "off") return std::nullopt;
    fs::path folder = variable("XDG_CACHE_HOME");
    // The XDG base directory specification: a relative path must be ignored.
    if (!folder.is_absolute()) {
        if (variable("HOME").empty()) return std::nullopt;
        folder = fs::path(variable("HOME")) / ".cache";
    }
    folder /= "aperture";
    fs::path made;
    for (const fs::path& part : folder) {
        made /= part;
        ::mkdir(made.c_str(), S_IRWXU);
    }
    struct stat status {};
    const bool safe = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (!safe) return std::nullopt;
    return CacheFolder(folder);
}

fs::path CacheFolder::path(const std::string& extension, std::string_view identity) const {
    return folder_ / (digits(text_hash(identity)) + extension);
}

std::optional<std::string> CacheFolder::read(const std::string& extension,
                                             std::string_view identity) const {
    const Descriptor file(
        ::open(path(extension, identity).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return std::nullopt;
    std::optional<std::string> bytes = bytes_of(file);
    const std::size_t tail_size = tail({}, identity).size();
    if (!bytes || bytes->size() < tail_size) return std::nullopt;
    const std::size_t size = bytes->size() - tail_size;
    if (!bytes->ends_with(tail(std::string_view(*bytes).substr(0, size), identity))) {
        return std::nullopt;
    }
    ::futimens(file.number(), nullptr);
    bytes->resize(size);
    return bytes;
}

void CacheFolder::write(const std::string& extension, std::string_view identity,
                        std::string_view contents) const {
    const fs::path target = path(extension, identity);
    std::string partial = target.string() + ".XXXXXX";
    const Descriptor file(::mkostemp(partial.data(), O_CLOEXEC));
    if (!file) return;
    const bool written = write_all(file, contents) && write_all(file, tail(contents, identity));
    if (!written || ::rename(partial.c_str(), target.c_str()) != 0) {
        ::unlink(partial.c_str());
        return;
    }
    static std::atomic<bool> pruned = false;
    if (!pruned.exchange(true)) prune(most_cached_bytes);
}

void CacheFolder::prune(std::uintmax_t most_bytes) const {
    struct File {
        fs::file_time_type used;
        std::uintmax_t size;
        fs::path path;
    };
    std::vector<File> files;
    std::uintmax_t bytes = 0;
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
        // Another process may remove the file between these calls.
        std::error_code gone;
        if (!fs::is_regular_file(entry->symlink_status(gone)) || gone) continue;
        const std::uintmax_t size = entry->file_size(gone);
        if (gone) continue;
        const fs::file_time_type used = entry->last_write_time(gone);
        if (gone) continue;
        files.push_back({used, size, entry->path()});
        bytes += size;
    }
    std::sort(files.begin(), files.end(),
              [](const File& a, const File& b) { return a.used < b.used; });
    for (const File& file : files) {
        if (bytes <= most_bytes) return;
        fs::remove(file.path, error);
        bytes -= file.size;
    }
}

}  // namespace aperture::core
