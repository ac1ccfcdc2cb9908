// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>

#include "aperture/core/error.hpp"
#include "aperture/core/view.hpp"

namespace aperture::core {

/// "3 x 4 x 5".
template <int Rank>
std::string extents_text(const Extents<Rank>& extent) {
    std::string words = std::to_string(extent[0]);
    for (int d = 1; d < Rank; ++d) words += " x " + std::to_string(extent[d]);
    return words;
}

/// Requirement on a view's strides.
enum class Strides {
    any,
    unit_last,  ///< the last extent is contiguous
    dense,
};

/// Throws InvalidArgument, with `name`, the actual and the expected values, unless `view` has these
/// extents and strides. Otherwise allocates nothing.
template <class T, int Rank, class Space, class Layout>
void expects_shape(const char* name, const View<T, Rank, Space, Layout>& view,
                   const std::type_identity_t<Extents<Rank>>& extent,
                   Strides strides = Strides::any) {
    if (view.extent != extent) {
        throw InvalidArgument(
            text(name, " is ", extents_text(view.extent), ", must be ", extents_text(extent)));
    }
    expects(strides != Strides::unit_last || view.stride[Rank - 1] == 1, name, ": stride ",
            view.stride[Rank - 1], " of the last extent, must be 1");
    if (strides == Strides::dense && !view.dense()) {
        throw InvalidArgument(text(name, " of ", extents_text(view.extent), " has strides ",
                                   extents_text(view.stride), ", must be dense"));
    }
}

}  // namespace aperture::core
