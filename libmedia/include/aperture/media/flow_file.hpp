// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <filesystem>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/atomic_file.hpp"

namespace aperture::media {

/// What stands in both planes of a flow where the flow is unknown.
inline constexpr float unknown_flow = 1e10F;

/// False where a flow is unknown: NaN, or a component beyond 1e9 in magnitude (the rule of the
/// Middlebury benchmark, whose files hold about 1.67e9 there).
inline bool is_known(float u, float v) { return std::abs(u) <= 1e9F && std::abs(v) <= 1e9F; }

/// Reads a dense flow field, [2][row][column] in pixels: plane 0 is u, to the right, plane 1 is v,
/// downwards. The content decides on the format:
///
/// * Middlebury's .flo (Baker et al. 2011): the little-endian float 202021.25, width and height as
///   int32, then u and v of every pixel, row after row. Values are taken as they are stored, those
///   of unknown pixels as well: read and written again the file is the same byte for byte.
/// * KITTI's PNG (Menze & Geiger 2015), 16-bit colour: red = 64 u + 2^15, green = 64 v + 2^15, blue
///   = 0 where unknown; `unknown_flow` stands there. Not in a build without OpenCV.
///
/// Throws core::InvalidArgument with one line "NAME: REASON"; a size in the header that is not that
/// of the file is refused before anything of that size is allocated.
core::Array<float, 3> read_flow(const std::filesystem::path& path);

/// Writes `flow`, [2][row][column] of any strides, as its extension says: .flo, bit by bit; .png,
/// KITTI's, rounded to 1/64 pixel. KITTI's range is -512 to 511.98: pixels outside it, and unknown
/// ones, are written as unknown, since a wrong flow would look like a measured one. The file
/// appears whole or not at all. Throws core::InvalidArgument: any other extension, .png in a build
/// without OpenCV, an empty flow, a target that cannot be written.
void write_flow(const std::filesystem::path& path, core::View<const float, 3, core::Host> flow);
/// The same, not committed yet.
AtomicFile new_flow(const std::filesystem::path& path, core::View<const float, 3, core::Host> flow);

}  // namespace aperture::media
