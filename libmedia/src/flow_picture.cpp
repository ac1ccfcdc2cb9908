// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/flow_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "aperture/core/error.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/plot.hpp"

namespace aperture::media {
namespace {

using core::Host;
using core::index_t;
using core::View;

constexpr Colour unknown = {0, 0, 0};
constexpr float arrow_width = 1.4F;
constexpr double image_brightness = 0.5;
constexpr double largest_scale = 1e6;  // keeps the ends of arrows within float

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

void expects_flow(const View<const float, 3, Host>& flow) {
    const auto [planes, rows, columns] = flow.extent;
    constexpr index_t most = std::numeric_limits<int>::max();
    core::expects(planes == 2 && rows > 0 && columns > 0 && rows <= most && columns <= most,
                  "flow of ", planes, " planes of ", columns, 'x', rows, " pixels");
}

void expects_same_size(const char* what, const View<const float, 3, Host>& other,
                       const View<const float, 3, Host>& flow) {
    core::expects(other.extent[1] == flow.extent[1] && other.extent[2] == flow.extent[2], what,
                  " of ", other.extent[2], 'x', other.extent[1], " pixels, flow of ",
                  flow.extent[2], 'x', flow.extent[1]);
}

bool known_at(const View<const float, 3, Host>& flow, index_t row, index_t column) {
    return is_known(flow(0, row, column), flow(1, row, column));
}

/// Paints a picture with `colour(row, column)` for every pixel of a flow.
template <class ColourOf>
Picture paint(const View<const float, 3, Host>& flow, ColourOf colour) {
    const auto [planes, rows, columns] = flow.extent;
    Picture picture(static_cast<int>(columns), static_cast<int>(rows), unknown);
    auto pixel = picture.pixels.begin();
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) *pixel++ = colour(row, column);
    }
    return picture;
}

void draw_arrow(Picture& picture, double x, double y, double dx, double dy, Colour colour) {
    constexpr double barb_angle = 0.45;
    const double length = std::hypot(dx, dy);
    const auto line = [&](double x0, double y0, double x1, double y1) {
        picture.line(static_cast<float>(x0), static_cast<float>(y0), static_cast<float>(x1),
                     static_cast<float>(y1), arrow_width, colour);
    };
    const double tip_x = x + dx;
    const double tip_y = y + dy;
    line(x, y, tip_x, tip_y);
    if (length < 2) return;
    const double barb = std::min(0.35 * length, 6.0) / length;
    for (const double angle : {-barb_angle, barb_angle}) {
        const double along = barb * std::cos(angle);
        const double across = barb * std::sin(angle);
        line(tip_x, tip_y, tip_x - along * dx + across * dy, tip_y - along * dy - across * dx);
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

double largest_motion(View<const float, 3, Host> flow) {
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

Picture draw_flow(View<const float, 3, Host> flow, double max_motion) {
    expects_flow(flow);
    core::expects(max_motion >= 0 && std::isfinite(max_motion),
                  "largest motion must be finite and not negative, is ", max_motion);
    const double unit = max_motion > 0 ? max_motion : 1;
    return paint(flow, [&](index_t row, index_t column) {
        return known_at(flow, row, column)
                   ? flow_colour(flow(0, row, column) / unit, flow(1, row, column) / unit)
                   : unknown;
    });
}

Picture draw_arrows(View<const float, 3, Host> image, View<const float, 3, Host> flow, int spacing,
                    double scale) {
    expects_flow(flow);
    expects_same_size("image", image, flow);
    const index_t channels = image.extent[0];
    core::expects(channels == 1 || channels == 3, "image has ", channels,
                  " channels, expected 1 or 3");
    core::expects(spacing > 0, "arrow spacing must be positive, is ", spacing);
    core::expects(scale > 0 && scale <= largest_scale, "arrow scale is ", scale,
                  ", expected above 0, at most ", largest_scale);
    Picture picture = paint(flow, [&](index_t row, index_t column) {
        const double luma = channels == 1
                                ? image(0, row, column)
                                : 0.299 * image(0, row, column) + 0.587 * image(1, row, column) +
                                      0.114 * image(2, row, column);
        // fmax(NaN, 0) is 0.
        const double grey = image_brightness * std::min(std::fmax(luma, 0.0), 255.0);
        const auto level = static_cast<std::uint8_t>(std::lround(grey));
        return Colour{level, level, level};
    });
    const double largest = largest_motion(flow);
    const double unit = largest > 0 ? largest : 1;
    for (index_t row = spacing / 2; row < flow.extent[1]; row += spacing) {
        for (index_t column = spacing / 2; column < flow.extent[2]; column += spacing) {
            if (!known_at(flow, row, column)) continue;
            const double u = flow(0, row, column);
            const double v = flow(1, row, column);
            draw_arrow(picture, static_cast<double>(column), static_cast<double>(row), scale * u,
                       scale * v, flow_colour(u / unit, v / unit));
        }
    }
    return picture;
}

Picture draw_error_map(View<const float, 3, Host> flow, View<const float, 3, Host> truth,
                       double max_error) {
    expects_flow(flow);
    expects_flow(truth);
    expects_same_size("truth", truth, flow);
    core::expects(max_error > 0 && std::isfinite(max_error),
                  "largest error must be finite and positive, is ", max_error);
    return paint(flow, [&](index_t row, index_t column) {
        if (!known_at(truth, row, column)) return unknown;
        if (!known_at(flow, row, column)) return colour_at(1);
        const double du = static_cast<double>(flow(0, row, column)) - truth(0, row, column);
        const double dv = static_cast<double>(flow(1, row, column)) - truth(1, row, column);
        return colour_at(std::hypot(du, dv) / max_error);
    });
}

}  // namespace aperture::media
