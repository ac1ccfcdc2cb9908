// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "aperture/compose/plan.hpp"

/// Images that a kernel makes and whose neighbours it reads: a part of the kernel computes them on
/// chip, for a strip or a block of a device and a margin around it.
namespace aperture::compose {

/// The call that makes what call `reader` of a kernel reads of a symbol; -1 if that is loaded.
int maker_of(std::span<const PlannedCall> calls, std::size_t reader, SymbolId id);

/// Parts that make tiles, one after the other, and the last one, of elements; none without tiles.
std::vector<KernelPart> tile_parts(const Kernel& kernel);

/// Whether tiles can be made: of what the kernel does not overwrite, in the memory that there is.
bool tiles_fit(const Kernel& kernel);

/// The bytes of images from which on a machine is known to be faster with tiles; infinite where
/// caches are not known.
double tiles_from(const Machine& machine);

/// Rows in memory, a power of two.
index_t rows_of_tile(const Access& margin);
/// Of so many columns and the margin.
index_t bytes_of_tile(const Access& margin, Dtype dtype, index_t columns);
index_t bytes_of_tiles(const Kernel& kernel, index_t columns);

}  // namespace aperture::compose
