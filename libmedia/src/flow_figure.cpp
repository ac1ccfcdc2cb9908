// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/flow_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "aperture/core/error.hpp"
#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/picture.hpp"
#include "libmedia/src/plot_axes.hpp"

namespace aperture::media {
namespace {

using core::index_t;
using FlowView = core::View<const float, 3, core::Host>;

constexpr double arrow_width = 1.4;
constexpr double image_brightness = 0.5;
constexpr double largest_scale = 1e6;

constexpr int key_margin = 16;
constexpr int wheel_radius = 38;
constexpr int wheel_bottom = key_margin + 2 * wheel_radius + 1;
constexpr double longest_reference = 70;  // pixels
constexpr int reference_bottom = wheel_bottom + 70;
constexpr int shortest_bar = 160;
constexpr int longest_bar = 400;

/// A picture of the flow's size.
Picture picture_of_size(const FlowView& flow) {
    const auto [planes, rows, columns] = flow.extent;
    constexpr index_t most = std::numeric_limits<int>::max();
    core::expects(planes == 2 && rows > 0 && columns > 0 && rows <= most && columns <= most,
                  "flow of ", planes, " planes of ", columns, 'x', rows, " pixels");
    return {static_cast<int>(columns), static_cast<int>(rows), Colour{}};
}

std::string pixels_text(double length) {
    std::array<char, 32> words{};
    std::snprintf(words.data(), words.size(), "%.3g px", length);
    return words.data();
}

void draw_arrow(Figure& figure, Point from, double dx, double dy, const Pen& pen) {
    constexpr double barb_angle = 0.45;
    const double length = std::hypot(dx, dy);
    const Point tip{from.x + dx, from.y + dy};
    figure.line(std::array{from, tip}, pen);
    if (length < 2) return;
    const double barb = std::min(0.35 * length, 6.0) / length;
    const auto end = [&](double angle) {
        const double along = barb * std::cos(angle);
        const double across = barb * std::sin(angle);
        return Point{tip.x - along * dx + across * dy, tip.y - along * dy - across * dx};
    };
    figure.line(std::array{end(-barb_angle), tip, end(barb_angle)}, pen);
}

/// A figure with the picture on its left and room for a key of `key_rows` on its right.
Figure beside_key(const Picture& picture, int key_rows) {
    Figure figure(picture.width + flow_key_columns, std::max(picture.height, key_rows));
    figure.picture(picture, 0, 0);
    return figure;
}

/// The wheel and the motion at its rim.
void draw_wheel(Figure& figure, int left, double max_motion) {
    constexpr int size = 2 * wheel_radius + 1;
    Picture wheel(size, size, paper);
    for (int y = -wheel_radius; y <= wheel_radius; ++y) {
        for (int x = -wheel_radius; x <= wheel_radius; ++x) {
            if (std::hypot(x, y) > wheel_radius) continue;
            wheel.at(x + wheel_radius, y + wheel_radius) = flow::flow_colour(
                static_cast<double>(x) / wheel_radius, static_cast<double>(y) / wheel_radius);
        }
    }
    const int corner = left + (flow_key_columns - size) / 2;
    figure.picture(wheel, corner, key_margin);
    const Point centre{corner + size / 2.0, key_margin + size / 2.0};
    figure.ring(centre, size / 2.0, {ink, 1.5});
    draw_arrow(figure, centre, wheel_radius, 0, {ink, 1.2});
    figure.text(pixels_text(max_motion > 0 ? max_motion : 1), {centre.x, wheel_bottom + 14.0},
                text_height, ink, Anchor::centre);
}

/// The largest of 1, 2 and 5 times a power of ten up to `most`.
double round_down(double most) {
    const double power = std::pow(10, std::floor(std::log10(most) + 1e-9));
    for (const double factor : {5.0, 2.0}) {
        if (factor * power <= most * (1 + 1e-9)) return factor * power;
    }
    return power;
}

void draw_reference(Figure& figure, int left, double scale, double largest) {
    const double most = longest_reference / scale;
    const double motion = round_down(largest > 0 ? std::min(largest, most) : most);
    const double length = scale * motion;
    const double middle = left + flow_key_columns / 2.0;
    draw_arrow(figure, {middle - length / 2, wheel_bottom + 40.0}, length, 0, {ink, arrow_width});
    figure.text(pixels_text(motion), {middle, wheel_bottom + 58.0}, text_height, ink,
                Anchor::centre);
}

Picture darkened(const FlowView& image, const FlowView& flow) {
    Picture picture = picture_of_size(flow);
    auto pixel = picture.pixels.begin();
    for (index_t row = 0; row < flow.extent[1]; ++row) {
        for (index_t column = 0; column < flow.extent[2]; ++column) {
            const double luma = image.extent[0] == 1 ? image(0, row, column)
                                                     : 0.299 * image(0, row, column) +
                                                           0.587 * image(1, row, column) +
                                                           0.114 * image(2, row, column);
            // fmax(NaN, 0) is 0.
            const double grey = image_brightness * std::min(std::fmax(luma, 0.0), 255.0);
            (pixel++)->fill(static_cast<std::uint8_t>(std::lround(grey)));
        }
    }
    return picture;
}

}  // namespace

Figure flow_figure(FlowView flow, double max_motion) {
    Picture picture = picture_of_size(flow);
    flow::draw_flow(flow, max_motion, picture.view());
    Figure figure = beside_key(picture, wheel_bottom + 30);
    draw_wheel(figure, picture.width, max_motion);
    return figure;
}

Figure arrow_figure(FlowView image, FlowView flow, int spacing, double scale) {
    core::expects(image.extent[1] == flow.extent[1] && image.extent[2] == flow.extent[2],
                  "image of ", image.extent[2], 'x', image.extent[1], " pixels, flow of ",
                  flow.extent[2], 'x', flow.extent[1]);
    const index_t channels = image.extent[0];
    core::expects(channels == 1 || channels == 3, "image has ", channels,
                  " channels, expected 1 or 3");
    core::expects(spacing > 0, "arrow spacing must be positive, is ", spacing);
    core::expects(scale > 0 && scale <= largest_scale, "arrow scale is ", scale,
                  ", expected above 0, at most ", largest_scale);
    const Picture picture = darkened(image, flow);
    Figure figure = beside_key(picture, reference_bottom);
    figure.clip({0, 0, double(picture.width), double(picture.height)});
    const double largest = flow::largest_motion(flow);
    const double unit = largest > 0 ? largest : 1;
    // A longer arrow ends outside in any case.
    const double longest = 2.0 * (picture.width + picture.height);
    for (index_t row = spacing / 2; row < flow.extent[1]; row += spacing) {
        for (index_t column = spacing / 2; column < flow.extent[2]; column += spacing) {
            if (!flow::is_known(flow(0, row, column), flow(1, row, column))) continue;
            const double u = flow(0, row, column);
            const double v = flow(1, row, column);
            const double length = scale * std::hypot(u, v);
            const double drawn = length > longest ? scale * longest / length : scale;
            // Centres of pixels are at halves.
            draw_arrow(figure, {static_cast<double>(column) + 0.5, static_cast<double>(row) + 0.5},
                       drawn * u, drawn * v, {flow::flow_colour(u / unit, v / unit), arrow_width});
        }
    }
    figure.unclip();
    draw_wheel(figure, picture.width, largest);
    draw_reference(figure, picture.width, scale, largest);
    return figure;
}

Figure error_figure(FlowView flow, FlowView truth, double max_error) {
    Picture picture = picture_of_size(flow);
    flow::draw_error_map(flow, truth, max_error, picture.view());
    const int rows = std::clamp(picture.height - 2 * key_margin, shortest_bar, longest_bar);
    Figure figure = beside_key(picture, rows + 2 * key_margin);
    draw_colour_bar(figure, picture.width + key_margin, key_margin, rows,
                    {0, max_error, "end-point error (pixels)"});
    return figure;
}

}  // namespace aperture::media
