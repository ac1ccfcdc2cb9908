// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/atomic_file.hpp"

namespace aperture::media {

/// Value of both planes where a flow is unknown.
inline constexpr float unknown_flow = 1e10F;

/// Reads a dense flow field, [2][row][column] in pixels: plane 0 is u, to the right, plane 1 is v,
/// downwards. The format is detected from the content:
///
/// * Middlebury's .flo (Baker et al. 2011): the little-endian float 202021.25, width and height as
/// int32, then u and v of every pixel, row by row. Values are not changed, including those of
/// unknown pixels: a file that is read and written again is byte-identical.
/// * KITTI's PNG (Menze & Geiger 2015), 16-bit colour: red = 64 u + 2^15, green = 64 v + 2^15, blue
/// = 0 if unknown, which is read as `unknown_flow`. Not in a build without OpenCV.
///
/// Throws core::InvalidArgument with one line "NAME: REASON". A header size that contradicts the
/// file's size is rejected before anything of that size is allocated.
core::Array<float, 3> read_flow(const std::filesystem::path& path);

/// Writes `flow`, [2][row][column] with any strides, in the format of the extension: .flo, exactly;
/// .png, KITTI's, rounded to 1/64 pixel. KITTI's range is -512 to 511.98: pixels outside it are
/// written as unknown, like unknown ones, as a wrong flow would look measured. The file appears
/// completely or not at all. Throws core::InvalidArgument for another extension, .png in a build
/// without OpenCV, an empty flow, and a target that cannot be written.
void write_flow(const std::filesystem::path& path, core::View<const float, 3, core::Host> flow);
/// The same, without the commit.
AtomicFile new_flow(const std::filesystem::path& path, core::View<const float, 3, core::Host> flow);

}  // namespace aperture::media
