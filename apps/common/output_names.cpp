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
#include "aperture/media/picture.hpp"

namespace aperture::apps {

namespace {

using std::filesystem::path;

/// Whether both paths name one file, which need not exist.
bool same_file(const path& a, const path& b) {
    std::error_code error;
    return std::filesystem::equivalent(a, b, error) ||
           std::filesystem::weakly_canonical(a, error) ==
               std::filesystem::weakly_canonical(b, error);
}

void expect_distinct(const Files& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        for (std::size_t other = 0; other < i; ++other) {
            core::expects(
                !outputs[i] || !outputs[other] || !same_file(*outputs[i], *outputs[other]),
                outputs[i].value_or("").string(), ": used for two outputs");
        }
    }
}

}  // namespace

bool is_picture_name(const path& file) {
    constexpr std::array<std::string_view, 6> known{".png", ".ppm",  ".pgm",
                                                    ".jpg", ".jpeg", ".bmp"};
    return std::find(known.begin(), known.end(), file.extension().string()) != known.end();
}

path picture_name(const std::string& option, const path& file) {
    core::expects(is_picture_name(file), option, ' ', file.string(),
                  ": expected a name that ends in .png, .ppm, .pgm, .jpg or .bmp");
    return media::picture_name(file);
}

path numbered_file(const path& folder, core::index_t number, const char* extension) {
    std::ostringstream name;
    name << std::setw(6) << std::setfill('0') << number << extension;
    return folder / name.str();
}

void check_output_files(const Files& inputs, const Files& outputs) {
    expect_distinct(outputs);
    for (const auto& output : outputs) {
        for (const auto& input : inputs) {
            if (input && output) media::expects_distinct(*input, *output);
        }
    }
    // Creating and removing each file shows that it can be written.
    for (const auto& output : outputs) {
        if (output) const media::AtomicFile possible(*output);
    }
}

void check_output_folders(const Files& folders, const std::vector<path>& frames) {
    expect_distinct(folders);
    for (const auto& folder : folders) {
        if (!folder) continue;
        for (const path& file : frames) {
            const path its = file.has_parent_path() ? file.parent_path() : path(".");
            core::expects(!same_file(its, *folder), folder->string(),
                          ": cannot write: the folder contains the input frames");
        }
        std::error_code error;
        core::expects(!std::filesystem::exists(*folder, error) ||
                          std::filesystem::is_directory(*folder, error),
                      folder->string(), ": cannot write: not a folder");
        const media::AtomicFile possible(*folder / "000000");
    }
}

}  // namespace aperture::apps
