// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace aperture::media {

/// Whether the file is a result of one of the programs, and so not to be taken for an input unless
/// it is named. Pictures have a mark in their bytes (PNG a text chunk, JPEG and PNM a comment, BMP
/// its reserved word), HDF5 files the attribute `program`; .flo, .npy, .mp4, .csv and .json have no
/// place for one, and are results by their names: none of them is an image.
bool is_output(const std::filesystem::path& file);

}  // namespace aperture::media
