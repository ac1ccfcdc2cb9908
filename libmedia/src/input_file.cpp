// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/input_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

namespace fs = std::filesystem;

void expects_readable(const fs::path& path) {
    const std::string name = path.string();
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    core::expects(status.type() != fs::file_type::not_found, name, ": no such file");
    core::expects(!error, name, ": ", system_text(error.value()));
    core::expects(!fs::is_directory(status), name, ": is a directory");
    core::expects(fs::is_regular_file(status), name, ": not a regular file");
    core::expects(::access(name.c_str(), R_OK) == 0, name, ": ", system_text(errno));
}

std::string read_whole(const fs::path& path) {
    expects_readable(path);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    core::expects(descriptor >= 0, path.string(), ": ", system_text(errno));
    int failure = 0;
    std::string bytes;
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error) bytes.resize(size);
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t got = ::read(descriptor, bytes.data() + filled, bytes.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) failure = errno;
        if (got <= 0) break;
        filled += static_cast<std::size_t>(got);
    }
    ::close(descriptor);
    core::expects(failure == 0, path.string(), ": ", system_text(failure));
    bytes.resize(filled);
    return bytes;
}

}  // namespace aperture::media
