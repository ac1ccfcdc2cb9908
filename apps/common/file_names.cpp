// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/file_names.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <string_view>

#include "aperture/core/error.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/output_mark.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

/// Sorts numbers within names by value.
void sort_by_number(std::vector<path>& files) {
    std::sort(files.begin(), files.end(),
              [](const path& a, const path& b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
}

std::vector<path> images_in(const path& folder) {
    std::error_code error;
    std::vector<path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const bool hidden = entry.path().filename().string().starts_with('.');
        if (!hidden && is_image_name(entry.path())) files.push_back(entry.path());
    }
    core::expects(!error, folder.string(), ": ", error.message());
    core::expects(!files.empty(), folder.string(), ": the folder contains no image");
    return files;
}

std::vector<path> files_like(const std::string& pattern) {
    glob_t found{};
    const int status = glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    core::expects(status == 0 && !files.empty(), pattern, ": no file matches");
    return files;
}

/// Sorts `files` by number and removes the programs' results.
ImageList without_outputs(const std::string& input, std::vector<path> files) {
    sort_by_number(files);
    const auto first_output = std::find_if(files.begin(), files.end(), media::is_output);
    const path example = first_output == files.end() ? path() : first_output->filename();
    const auto outputs = std::erase_if(files, media::is_output);
    ImageList list;
    if (outputs > 0) {
        list.left_out =
            core::text(input, ": skipped ", outputs, outputs == 1 ? " file" : " files",
                       " written by these programs (", example.string(),
                       outputs == 1 ? ")" : ", ...)", "; name them explicitly to include them");
    }
    core::expects(!files.empty(), list.left_out, "; no other file found");
    list.files = std::move(files);
    return list;
}

void expect_distinct(const NamedFiles& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        for (std::size_t other = 0; other < i; ++other) {
            core::expects(!media::same_file(outputs[i].path, outputs[other].path),
                          outputs[i].path.string(), ": used for two outputs");
        }
    }
}

}  // namespace

bool is_image_name(const path& file) {
    std::string extension = file.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::array<std::string_view, 10> known{".png",  ".jpg", ".jpeg", ".bmp", ".tif",
                                                     ".tiff", ".ppm", ".pgm",  ".pnm", ".webp"};
    return std::find(known.begin(), known.end(), extension) != known.end();
}

bool is_folder(const std::vector<path>& inputs) {
    std::error_code error;
    return inputs.size() == 1 && std::filesystem::is_directory(inputs.front(), error);
}

bool is_pattern(const std::vector<path>& inputs) {
    std::error_code error;
    return inputs.size() == 1 &&
           inputs.front().string().find_first_of("*?[") != std::string::npos &&
           !std::filesystem::exists(inputs.front(), error);
}

ImageList list_images(const std::vector<path>& inputs) {
    const std::string name = inputs.front().string();
    if (is_folder(inputs)) return without_outputs(name, images_in(inputs.front()));
    if (is_pattern(inputs)) return without_outputs(name, files_like(name));
    return {inputs, ""};
}

path default_output(const std::vector<path>& inputs, const std::string& extension) {
    path base = inputs.front();
    if (inputs.size() > 1 || is_pattern(inputs)) {
        base = base.parent_path();
    } else if (!is_folder(inputs)) {
        return base.replace_extension(extension);
    }
    base = base.lexically_normal();
    if (!base.has_filename()) base = base.parent_path();
    if (base.empty() || base == "." || base.filename() == "..") return base / extension.substr(1);
    return base += extension;
}

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

bool is_figure_name(const path& file) {
    const path extension = file.extension();
    return extension == ".png" || extension == ".pdf" || extension == ".svg";
}

void expects_figure_name(const std::string& option, const path& file) {
    core::expects(is_figure_name(file), option, ' ', file.string(),
                  ": expected a name that ends in .png, .pdf or .svg");
    core::expects(have_figures, option, ' ', file.string(), ": requires a build with Cairo");
}

path numbered_file(const path& folder, core::index_t number, const char* extension) {
    std::ostringstream name;
    name << std::setw(6) << std::setfill('0') << number << extension;
    return folder / name.str();
}

void append(NamedFiles& files, const char* content, const std::optional<path>& file) {
    if (file) files.push_back({content, *file});
}

NamedFiles named_files(const char* content, const std::vector<path>& paths) {
    NamedFiles files;
    for (const path& file : paths) files.push_back({content, file});
    return files;
}

void check_output_files(const NamedFiles& inputs, NamedFiles outputs,
                        const CommonOptions& options) {
    if (!options.report_on_stdout()) append(outputs, "report", options.report);
    expect_distinct(outputs);
    for (const NamedFile& output : outputs) {
        core::expects(output.path != "-", "-: the ", output.content,
                      " cannot be written to standard output, only --report can");
        for (const NamedFile& input : inputs) media::expects_distinct(input.path, output.path);
    }
    // Creating and removing each file shows that it can be written.
    for (const NamedFile& output : outputs) const media::AtomicFile possible(output.path);
}

void check_output_folders(const NamedFiles& folders, const std::vector<path>& frames) {
    expect_distinct(folders);
    for (const auto& [content, folder] : folders) {
        for (const path& file : frames) {
            const path its = file.has_parent_path() ? file.parent_path() : path(".");
            core::expects(!media::same_file(its, folder), folder.string(),
                          ": cannot write: the folder contains the input frames");
        }
        std::error_code error;
        core::expects(
            !std::filesystem::exists(folder, error) || std::filesystem::is_directory(folder, error),
            folder.string(), ": cannot write: not a folder");
        const media::AtomicFile possible(folder / "000000");
    }
}

}  // namespace aperture::apps
