// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aperture/media/cube_file.hpp"
#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// Canonical axes; the first three are those of a view of the cube.
enum CubeAxis { channel, pulse, range, cpi };

/// The canonical axis of each axis of the file.
struct AxisOrder {
    std::vector<CubeAxis> canonical;
    AxisRule rule = AxisRule::canonical;
    std::optional<Domain> domain;  ///< from the name of the second axis, or from an attribute
    std::string text() const;
};

/// Applies the rules of docs/formats.md to a request and the attributes of a cube. `subject` is the
/// prefix of error texts: "cube.h5: dataset /cube".
AxisOrder find_axis_order(const CubeRequest& request, hid_t file, hid_t dataset, std::size_t axes,
                          bool halves, const std::string& subject);

}  // namespace aperture::media
