// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// What all our HDF5 drivers have in common; the functions are left to fill in.
H5FD_class_t driver_named(const char* name);

/// Reads up to `size` bytes at `address` of an open file; fewer only at its end or after an error.
std::size_t read_at(int descriptor, haddr_t address, std::size_t size, void* buffer);

}  // namespace aperture::media
