// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/private_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "aperture/core/error.hpp"

namespace aperture::compose {

namespace fs = std::filesystem;

PrivateFolder::PrivateFolder() {
    const char* const variable = std::getenv("TMPDIR");
    for (const fs::path parent : {variable == nullptr ? "" : variable, "/tmp"}) {
        if (!parent.is_absolute()) continue;
        std::string name = parent / "aperture.XXXXXX";
        if (::mkdtemp(name.data()) != nullptr) {
            path_ = name;
            failure_.clear();
            return;
        }
        failure_ = core::text("no folder can be made in ", parent.string(), ": ",
                              std::generic_category().message(errno));
    }
}

PrivateFolder::~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::string PrivateFolder::write(const std::string& name, std::string_view contents) const {
    const fs::path file = path_ / name;
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    errno = 0;
    std::ofstream stream(file, std::ios::binary);
    stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    stream.close();
    if (stream) return {};
    return core::text(file.string(),
                      " cannot be written: ", std::generic_category().message(errno));
}

}  // namespace aperture::compose
