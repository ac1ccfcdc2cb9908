// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/grey.hpp"

#include "aperture/core/shape.hpp"

namespace aperture::signal {

namespace {

using core::Host;
using core::index_t;
using core::View;
using Grey = View<float, 2, Host>;

float level(float sample) { return sample; }
float level(double sample) { return static_cast<float>(sample); }
float level(std::uint8_t sample) { return sample; }
float level(std::uint16_t sample) { return static_cast<float>(sample / 257.0); }

template <class Sample>
void compute_luma(const View<const Sample, 3, Host>& planes, const Grey& grey) {
    const auto [channels, rows, columns] = planes.extent;
    core::expects(channels == 1 || channels == 3, "image has ", channels,
                  " channels, expected 1 or 3");
    core::expects_shape("grey image", grey, {rows, columns});
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            grey(row, column) = channels == 1 ? level(planes(0, row, column))
                                              : 0.299F * level(planes(0, row, column)) +
                                                    0.587F * level(planes(1, row, column)) +
                                                    0.114F * level(planes(2, row, column));
        }
    }
}

}  // namespace

void to_grey(View<const float, 3, Host> planes, Grey grey) { compute_luma(planes, grey); }
void to_grey(View<const double, 3, Host> planes, Grey grey) { compute_luma(planes, grey); }
void to_grey(View<const std::uint8_t, 3, Host> planes, Grey grey) { compute_luma(planes, grey); }
void to_grey(View<const std::uint16_t, 3, Host> planes, Grey grey) { compute_luma(planes, grey); }

core::Array<float, 2> to_grey(View<const float, 3, Host> planes) {
    core::Array<float, 2> grey({planes.extent[1], planes.extent[2]});
    to_grey(planes, grey);
    return grey;
}

}  // namespace aperture::signal
