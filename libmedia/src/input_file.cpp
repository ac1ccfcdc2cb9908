// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/input_file.hpp"

#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "aperture/core/error.hpp"

namespace aperture::media {

namespace fs = std::filesystem;

std::string system_text(int error_number) {
    std::string words = std::generic_category().message(error_number);
    if (!words.empty()) words[0] = static_cast<char>(std::tolower(words[0]));
    return words;
}

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
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    std::string bytes(error ? 0 : size, '\0');
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    core::expects(file.is_open() && !file.bad(), path.string(), ": ", system_text(errno));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    return bytes;
}

}  // namespace aperture::media
