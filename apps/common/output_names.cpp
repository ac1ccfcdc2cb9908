// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/output_names.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>
#include <string_view>

#include "aperture/core/error.hpp"
#include "aperture/media/atomic_file.hpp"

namespace aperture::apps {

using std::filesystem::path;

bool is_picture_name(const path& file) {
    constexpr std::array<std::string_view, 6> known{".png", ".ppm",  ".pgm",
                                                    ".jpg", ".jpeg", ".bmp"};
    return std::find(known.begin(), known.end(), file.extension().string()) != known.end();
}

path picture_name(const std::string& option, path file) {
    core::expects(is_picture_name(file), option, ' ', file.string(),
                  ": expected a name that ends in .png, .ppm, .pgm, .jpg or .bmp");
#if !APERTURE_OPENCV
    const std::string extension = file.extension().string();
    if (extension != ".ppm" && extension != ".pgm") file.replace_extension(".ppm");
#endif
    return file;
}

bool same_file(const path& a, const path& b) {
    std::error_code error;
    return std::filesystem::equivalent(a, b, error) ||
           std::filesystem::weakly_canonical(a, error) ==
               std::filesystem::weakly_canonical(b, error);
}

path numbered_file(const path& folder, core::index_t number, const char* extension) {
    std::ostringstream name;
    name << std::setw(6) << std::setfill('0') << number << extension;
    return folder / name.str();
}

void check_output_folders(const std::vector<path>& folders, const std::vector<path>& frames) {
    for (const path& folder : folders) {
        for (const path& file : frames) {
            const path its = file.has_parent_path() ? file.parent_path() : path(".");
            core::expects(!same_file(its, folder), folder.string(),
                          ": cannot write: the folder contains the input frames");
        }
    }
    for (const path& folder : folders) {
        std::error_code error;
        core::expects(
            !std::filesystem::exists(folder, error) || std::filesystem::is_directory(folder, error),
            folder.string(), ": cannot write: not a folder");
        const media::AtomicFile possible(folder / "000000");
    }
}

void check_output_files(const std::vector<path>& inputs, const std::vector<path>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        for (const path& input : inputs) media::expects_distinct(input, outputs[i]);
        for (std::size_t other = 0; other < i; ++other) {
            core::expects(!same_file(outputs[i], outputs[other]), outputs[i].string(),
                          ": used for two outputs");
        }
    }
    // Creating and removing each file shows that it can be written.
    for (const path& output : outputs) const media::AtomicFile possible(output);
}

}  // namespace aperture::apps
