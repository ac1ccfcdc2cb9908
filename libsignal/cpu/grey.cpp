// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/grey.hpp"

#include "aperture/core/shape.hpp"

namespace aperture::signal {

using core::index_t;

void to_grey(core::View<const float, 3, core::Host> planes, core::View<float, 2, core::Host> grey) {
    const auto [channels, rows, columns] = planes.extent;
    core::expects(channels == 1 || channels == 3, "image has ", channels,
                  " channels, expected 1 or 3");
    core::expects_shape("grey image", grey, {rows, columns});
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            grey(row, column) = channels == 1 ? planes(0, row, column)
                                              : 0.299F * planes(0, row, column) +
                                                    0.587F * planes(1, row, column) +
                                                    0.114F * planes(2, row, column);
        }
    }
}

core::Array<float, 2> to_grey(core::View<const float, 3, core::Host> planes) {
    core::Array<float, 2> grey({planes.extent[1], planes.extent[2]});
    to_grey(planes, grey);
    return grey;
}

}  // namespace aperture::signal
