// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "aperture/core/shape.hpp"
#include "aperture/flow/accuracy.hpp"

namespace aperture::flow {
namespace {

using signal::Colour;
using AnyFlow = core::View<const float, 3, core::Host>;
using Picture = core::View<std::uint8_t, 3, core::Host>;

constexpr Colour unknown = {0, 0, 0};

/// The wheel from red to yellow, green, cyan, blue, magenta and back: one channel changes per arc.
struct Arc {
    int colours;
    Colour from;
    int channel;
    int direction;
};
constexpr std::array<Arc, 6> arcs = {{{15, {255, 0, 0}, 1, 1},
                                      {6, {255, 255, 0}, 0, -1},
                                      {4, {0, 255, 0}, 2, 1},
                                      {11, {0, 255, 255}, 1, -1},
                                      {13, {0, 0, 255}, 0, 1},
                                      {6, {255, 0, 255}, 2, -1}}};
constexpr int wheel_size = 55;

constexpr std::array<Colour, wheel_size> make_wheel() {
    std::array<Colour, wheel_size> wheel{};
    std::size_t next = 0;
    for (const Arc& arc : arcs) {
        for (int i = 0; i < arc.colours; ++i) {
            Colour colour = arc.from;
            const auto channel = static_cast<std::size_t>(arc.channel);
            const int moved = colour[channel] + arc.direction * (255 * i / arc.colours);
            colour[channel] = static_cast<std::uint8_t>(moved);
            wheel[next++] = colour;
        }
    }
    return wheel;
}

void expects_flow(const AnyFlow& flow) {
    const auto [planes, rows, columns] = flow.extent;
    core::expects(planes == 2 && rows > 0 && columns > 0, "flow of ", planes, " planes of ",
                  columns, 'x', rows, " pixels");
}

bool known_at(const AnyFlow& flow, index_t row, index_t column) {
    return is_known(flow(0, row, column), flow(1, row, column));
}

/// Paints `picture` with `colour(row, column)` for every pixel of a flow.
template <class ColourOf>
void paint(const AnyFlow& flow, const Picture& picture, const ColourOf& colour) {
    const auto [planes, rows, columns] = flow.extent;
    core::expects_shape("picture", picture, {rows, columns, 3});
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            const Colour of_pixel = colour(row, column);
            for (index_t c = 0; c < 3; ++c) {
                picture(row, column, c) = of_pixel[static_cast<std::size_t>(c)];
            }
        }
    }
}

}  // namespace

Colour flow_colour(double u, double v) {
    static constexpr std::array<Colour, wheel_size> wheel = make_wheel();
    core::expects(std::isfinite(u) && std::isfinite(v), "motion must be finite, is ", u, ", ", v);
    // The longest motion of a flow, divided by its own length, must not be darkened.
    constexpr double rounding = 1e-9;
    const double length = std::hypot(u, v);
    const double turn = std::atan2(-v, -u) / std::numbers::pi;
    const double position = (turn + 1) / 2 * (wheel_size - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = (below + 1) % wheel_size;
    const double fraction = position - static_cast<double>(below);
    Colour colour;
    for (std::size_t c = 0; c < 3; ++c) {
        const double hue = ((1 - fraction) * wheel[below][c] + fraction * wheel[above][c]) / 255;
        const double value =
            length <= 1 + rounding ? 1 - std::min(length, 1.0) * (1 - hue) : 0.75 * hue;
        colour[c] = static_cast<std::uint8_t>(std::floor(255 * value));
    }
    return colour;
}

double largest_motion(AnyFlow flow) {
    expects_flow(flow);
    double largest = 0;
    for (index_t row = 0; row < flow.extent[1]; ++row) {
        for (index_t column = 0; column < flow.extent[2]; ++column) {
            if (!known_at(flow, row, column)) continue;
            largest = std::max(largest, std::hypot(static_cast<double>(flow(0, row, column)),
                                                   static_cast<double>(flow(1, row, column))));
        }
    }
    return largest;
}

void draw_flow(AnyFlow flow, double max_motion, Picture picture) {
    expects_flow(flow);
    core::expects(max_motion >= 0 && std::isfinite(max_motion),
                  "largest motion must be finite and not negative, is ", max_motion);
    const double unit = max_motion > 0 ? max_motion : 1;
    paint(flow, picture, [&](index_t row, index_t column) {
        return known_at(flow, row, column)
                   ? flow_colour(flow(0, row, column) / unit, flow(1, row, column) / unit)
                   : unknown;
    });
}

void draw_error_map(AnyFlow flow, AnyFlow truth, double max_error, Picture picture) {
    expects_flow(flow);
    expects_flow(truth);
    core::expects(truth.extent[1] == flow.extent[1] && truth.extent[2] == flow.extent[2],
                  "truth of ", truth.extent[2], 'x', truth.extent[1], " pixels, flow of ",
                  flow.extent[2], 'x', flow.extent[1]);
    core::expects(max_error > 0 && std::isfinite(max_error),
                  "largest error must be finite and positive, is ", max_error);
    paint(flow, picture, [&](index_t row, index_t column) {
        if (!known_at(truth, row, column)) return unknown;
        if (!known_at(flow, row, column)) return signal::colour_at(1);
        const double du = static_cast<double>(flow(0, row, column)) - truth(0, row, column);
        const double dv = static_cast<double>(flow(1, row, column)) - truth(1, row, column);
        return signal::colour_at(std::hypot(du, dv) / max_error);
    });
}

}  // namespace aperture::flow
