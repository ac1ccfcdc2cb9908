// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "aperture/core/array.hpp"

namespace aperture::media {

/// Reads dataset /planes, [plane][row][column], of an HDF5 file: integers or floating-point numbers
/// of any size and byte order, to the nearest float. `threads` = 0 takes what OpenMP would take.
///
/// Throws core::InvalidArgument with one line "NAME: REASON" for what is missing, no HDF5 file, has
/// no such dataset, has one of another rank or of other elements, without elements, or larger by
/// its header than the file can hold; and for values that are not finite as floats, with the place
/// of the first.
core::Array<float, 3> read_planes(const std::filesystem::path& path, int threads = 0);

}  // namespace aperture::media
