// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>

#include "aperture/media/cube_file.hpp"
#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// The canonical axis (0 channel, 1 pulse or doppler, 2 range) of each axis of the file.
struct AxisOrder {
    std::array<int, 3> canonical{0, 1, 2};
    AxisRule rule = AxisRule::canonical;
    std::optional<Domain> domain;  ///< from the name of the second axis, or from an attribute
    std::string text() const;
};

/// Applies the rules of docs/formats.md to a request and the attributes of a cube. `subject` is the
/// prefix of error texts: "cube.h5: dataset /cube".
AxisOrder find_axis_order(const CubeRequest& request, hid_t file, hid_t dataset,
                          const std::string& subject);

}  // namespace aperture::media
