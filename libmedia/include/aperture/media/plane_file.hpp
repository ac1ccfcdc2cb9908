// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "aperture/core/array.hpp"

namespace aperture::media {

/// Reads dataset /planes, [plane][row][column], of an HDF5 file: integers or floating-point numbers
/// of any size and byte order, rounded to the nearest float. `threads` = 0 uses OpenMP's default.
///
/// Throws core::InvalidArgument with one line "NAME: REASON" if the file is missing or no HDF5
/// file, or if the dataset is missing, of another rank or element type, empty, or larger than the
/// file can hold; and for values that are not finite as floats, with the position of the first.
core::Array<float, 3> read_planes(const std::filesystem::path& path, int threads = 0);

}  // namespace aperture::media
