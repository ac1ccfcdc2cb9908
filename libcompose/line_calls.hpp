// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/compose/plan.hpp"

/// The calls of kernels that add up rows or columns of images.
namespace aperture::compose {

/// Whether a call of the kernel adds rows or columns up.
bool is_of_rows(const Kernel& kernel);

/// Whether a call makes entries of vectors of those in the same places.
bool is_of_vectors(const PlannedCall& planned);

/// Along which side of an image a vector lies: bits.
inline constexpr unsigned along_rows = 1;  ///< an entry a row
inline constexpr unsigned along_columns = 2;

/// Of each call, the sides along which the vectors that it makes can lie; 0 if there is none. What
/// calls write or overwrite lies along one side, with all that is computed of it: then no thread
/// reads what another one writes.
std::vector<unsigned> sides_of(const std::vector<const PlannedCall*>& calls, const Type& image);

/// Where a call of a kernel that adds up rows or columns is computed.
enum class LinePart {
    scalars,    ///< before all others
    first,      ///< with an element
    second,     ///< with an element, once the totals of its row are known
    of_row,     ///< with the totals of a row: an entry of vectors
    of_column,  ///< with those of a column
};
/// Of each call. That of sums of columns is `second` if any is.
std::vector<LinePart> line_parts(const Kernel& kernel);
/// Whether rows are read a second time.
bool is_in_parts(const Kernel& kernel);

}  // namespace aperture::compose
