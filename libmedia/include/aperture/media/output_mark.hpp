// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace aperture::media {

/// Whether the file is an output of one of the programs, and therefore no input unless named
/// explicitly. Pictures have a mark in their bytes (PNG a text chunk, JPEG and PNM a comment, BMP
/// its reserved word), HDF5 files the attribute `program`. Formats without room for a mark, .flo,
/// .npy, .mp4, .csv and .json, are outputs by their names: none of them is an image.
bool is_output(const std::filesystem::path& file);

}  // namespace aperture::media
