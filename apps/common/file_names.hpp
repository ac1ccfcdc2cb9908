// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aperture/core/view.hpp"
#include "apps/common/program.hpp"

/// Names of inputs and outputs.
namespace aperture::apps {

/// Whether `inputs` is one folder, or one pattern with * ? [ ] that is no file's name.
bool is_folder(const std::vector<std::filesystem::path>& inputs);
bool is_pattern(const std::vector<std::filesystem::path>& inputs);

/// Whether the name's extension is that of an image.
bool is_image_name(const std::filesystem::path& file);

struct ImageList {
    std::vector<std::filesystem::path> files;
    std::string left_out;  ///< a note on results of earlier runs; empty if there are none
};

/// Lists the images of a folder, the images whose names match a pattern, or the given files as they
/// are. Folders and patterns are sorted by name, frame2 before frame10, without the programs'
/// results (media::is_output). Throws core::InvalidArgument if no image remains or a folder cannot
/// be read.
ImageList list_images(const std::vector<std::filesystem::path>& inputs);

/// The default output path. For ".flow": "video.flow" beside video.avi; "frames.flow" beside the
/// folder frames/, given by name or by its files; "flow" for files in the working directory.
std::filesystem::path default_output(const std::vector<std::filesystem::path>& inputs,
                                     const std::string& extension);

/// Whether the name's extension is that of a picture.
bool is_picture_name(const std::filesystem::path& file);
/// Returns the final name of the picture, which differs in a build that writes only PNM. Throws if
/// `file` cannot be written as a picture.
std::filesystem::path picture_name(const std::string& option, const std::filesystem::path& file);

/// Whether the programs draw figures: not in a build without Cairo.
inline constexpr bool have_figures = APERTURE_CAIRO;
/// Whether the name's extension is that of a figure: .png, .pdf or .svg.
bool is_figure_name(const std::filesystem::path& file);
/// Throws if `file` cannot be written as a figure.
void expects_figure_name(const std::string& option, const std::filesystem::path& file);

/// "FOLDER/000012.flo"
std::filesystem::path numbered_file(const std::filesystem::path& folder, core::index_t number,
                                    const char* extension);

/// A file or folder that a run reads or writes, and what it contains: {"cube", "flight.h5"}.
struct NamedFile {
    std::string content;
    std::filesystem::path path;
};
using NamedFiles = std::vector<NamedFile>;

/// Appends a file if it is requested.
void append(NamedFiles& files, const char* content,
            const std::optional<std::filesystem::path>& path);
/// Files of the same content.
NamedFiles named_files(const char* content, const std::vector<std::filesystem::path>& paths);

/// Throws core::InvalidArgument before the computation if an output, or the report of the options,
/// would replace an input or another output or cannot be written.
void check_output_files(const NamedFiles& inputs, NamedFiles outputs, const CommonOptions& options);

/// Throws core::InvalidArgument if two folders are the same, or if one contains one of `frames`,
/// whose names results could have, or cannot be written to. Missing folders are created with their
/// first file.
void check_output_folders(const NamedFiles& folders,
                          const std::vector<std::filesystem::path>& frames);

}  // namespace aperture::apps
