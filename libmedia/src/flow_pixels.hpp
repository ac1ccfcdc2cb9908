// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "aperture/core/error.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/picture.hpp"

// What pictures and figures of a flow share.
namespace aperture::media {

using FlowView = core::View<const float, 3, core::Host>;

inline void expects_flow(const FlowView& flow) {
    const auto [planes, rows, columns] = flow.extent;
    constexpr core::index_t most = std::numeric_limits<int>::max();
    core::expects(planes == 2 && rows > 0 && columns > 0 && rows <= most && columns <= most,
                  "flow of ", planes, " planes of ", columns, 'x', rows, " pixels");
}

inline void expects_same_size(const char* what, const FlowView& other, const FlowView& flow) {
    core::expects(other.extent[1] == flow.extent[1] && other.extent[2] == flow.extent[2], what,
                  " of ", other.extent[2], 'x', other.extent[1], " pixels, flow of ",
                  flow.extent[2], 'x', flow.extent[1]);
}

inline bool known_at(const FlowView& flow, core::index_t row, core::index_t column) {
    return is_known(flow(0, row, column), flow(1, row, column));
}

/// Paints a picture with `colour(row, column)` for every pixel of a flow.
template <class ColourOf>
Picture paint(const FlowView& flow, ColourOf colour) {
    const auto [planes, rows, columns] = flow.extent;
    Picture picture(static_cast<int>(columns), static_cast<int>(rows), Colour{});
    auto pixel = picture.pixels.begin();
    for (core::index_t row = 0; row < rows; ++row) {
        for (core::index_t column = 0; column < columns; ++column) *pixel++ = colour(row, column);
    }
    return picture;
}

}  // namespace aperture::media
