// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"
#include "aperture/signal/colour_map.hpp"
#include "libmedia/src/plot_axes.hpp"

namespace aperture::media {
namespace {

using core::Host;
using core::index_t;
using core::View;

constexpr float marker_radius = 9;

// Cells without a value are hatched with stripes that fall from left to right.
constexpr Colour undefined = {150, 150, 150};
constexpr Colour undefined_stripe = {235, 235, 235};
constexpr int stripe_period = 8;
constexpr int stripe_width = 3;

std::array<Colour, 256> colour_table() {
    std::array<Colour, 256> table;
    for (int i = 0; i < 256; ++i) {
        const double position = i / 255.0;
        table[static_cast<std::size_t>(i)] = signal::colour_at(position);
    }
    return table;
}

/// Pixels per cell, or cells per pixel, along one axis.
struct Fit {
    int pixels_per_cell;
    int cells_per_pixel;
    int pixels;
};

Fit scaled(index_t cells, int up, int down) {
    return {up, down, static_cast<int>((cells + down - 1) / down) * up};
}

Fit fit(index_t cells, int target) {
    if (cells > target * 3 / 2) {
        return scaled(cells, 1, static_cast<int>((cells + target - 1) / target));
    }
    const double scale = static_cast<double>(target) / static_cast<double>(cells);
    return scaled(cells, std::max(1, static_cast<int>(std::lround(scale))), 1);
}

struct PanelFit {
    Fit x;
    Fit y;
};

PanelFit fit(const HeatMap& map) {
    const auto [rows, columns] = map.values.extent;
    const Fit x = fit(columns, plot_columns);
    const Fit y = fit(rows, plot_rows);
    if (!map.square_cells) return {x, y};
    const int up = std::min(x.pixels_per_cell, y.pixels_per_cell);
    const int down = std::max(x.cells_per_pixel, y.cells_per_pixel);
    return {scaled(columns, up, down), scaled(rows, up, down)};
}

struct PanelPlace {
    Fit x;
    Fit y;
    int left;
    int top;

    PlotArea area() const { return {left, top, x.pixels, y.pixels}; }
    double column(const Axis& axis, index_t cells, double coordinate) const {
        return left + centre(axis, cells, coordinate, x);
    }
    double row(const Axis& axis, index_t cells, double coordinate) const {
        return top + y.pixels - 1 - centre(axis, cells, coordinate, y);
    }
    static double centre(const Axis& axis, index_t cells, double coordinate, const Fit& f) {
        const double span = axis.last - axis.first;
        const double cell =
            span == 0 ? 0 : (coordinate - axis.first) / span * static_cast<double>(cells - 1);
        return (cell + 0.5) * f.pixels_per_cell / f.cells_per_pixel - 0.5;
    }
};

float largest(const View<const float, 2, Host>& values, index_t y, index_t x,
              const PanelPlace& place) {
    const index_t y_end = std::min(values.extent[0], y + place.y.cells_per_pixel);
    const index_t x_end = std::min(values.extent[1], x + place.x.cells_per_pixel);
    float most = std::numeric_limits<float>::quiet_NaN();
    for (index_t j = y; j < y_end; ++j) {
        for (index_t i = x; i < x_end; ++i) most = std::fmax(most, values(j, i));
    }
    return most;
}

void draw_cells(Figure& figure, const HeatMap& map, const PanelPlace& place,
                const ColourScale& scale) {
    const std::array<Colour, 256> table = colour_table();
    Picture cells(place.x.pixels, place.y.pixels, undefined);
    for (int row = 0; row < place.y.pixels; ++row) {
        const index_t y =
            index_t{place.y.pixels - 1 - row} / place.y.pixels_per_cell * place.y.cells_per_pixel;
        for (int column = 0; column < place.x.pixels; ++column) {
            const index_t x = index_t{column} / place.x.pixels_per_cell * place.x.cells_per_pixel;
            const float value = largest(map.values, y, x, place);
            const double position =
                std::clamp((value - scale.low) / (scale.high - scale.low), 0.0, 1.0);
            const bool stripe = (column - row + place.y.pixels) % stripe_period < stripe_width;
            cells.at(column, row) =
                std::isnan(value) ? (stripe ? undefined_stripe : undefined)
                                  : table[static_cast<std::size_t>(std::lround(255 * position))];
        }
    }
    figure.picture(cells, place.left, place.top);
}

void draw_axes(Figure& figure, const HeatMap& map, const PanelPlace& place) {
    const PlotArea area = place.area();
    draw_frame(figure, area);
    const std::vector<double> across = ticks(map.x.first, map.x.last, area.columns / tick_columns);
    for (const double value : across) {
        const auto x =
            static_cast<int>(std::lround(place.column(map.x, map.values.extent[1], value)));
        draw_tick_below(figure, area, x, tick_text(value, step_of(across)));
    }
    const std::vector<double> up = ticks(map.y.first, map.y.last, area.rows / tick_rows);
    for (const double value : up) {
        const auto y = static_cast<int>(std::lround(place.row(map.y, map.values.extent[0], value)));
        draw_tick_left(figure, area, y, tick_text(value, step_of(up)));
    }
    draw_labels(figure, area, map.x.label, map.y.label, map.title);
}

void draw_markers(Figure& figure, const HeatMap& map, const PanelPlace& place) {
    for (const Marker& marker : map.markers) {
        // Centres of pixels are at halves.
        const Point centre{place.column(map.x, map.values.extent[1], marker.x) + 0.5,
                           place.row(map.y, map.values.extent[0], marker.y) + 0.5};
        figure.ring(centre, marker_radius, {ink, 4});
        figure.ring(centre, marker_radius, {paper, 2});
    }
}

void check_scale(const ColourScale& scale) {
    core::expects(std::isfinite(scale.low) && scale.low < scale.high && std::isfinite(scale.high),
                  "plot range must be finite and increasing, is ", scale.low, " to ", scale.high,
                  ' ', scale.label);
}

}  // namespace

core::Array<float, 2> decibels(View<const std::complex<float>, 2, Host> map) {
    core::Array<float, 2> db({map.extent[0], map.extent[1]});
    for (index_t y = 0; y < map.extent[0]; ++y) {
        for (index_t x = 0; x < map.extent[1]; ++x) {
            // |z|^2 of large but finite fp32 values overflows fp32.
            const std::complex<double> z = map(y, x);
            db(y, x) = static_cast<float>(10 * std::log10(std::norm(z)));
        }
    }
    return db;
}

ColourScale common_range(std::span<const HeatMap> panels, const std::string& label) {
    std::vector<float> values;
    for (const HeatMap& map : panels) {
        for (index_t y = 0; y < map.values.extent[0]; ++y) {
            for (index_t x = 0; x < map.values.extent[1]; ++x) {
                if (std::isfinite(map.values(y, x))) values.push_back(map.values(y, x));
            }
        }
    }
    if (values.empty()) return {-1, 0, label};
    const auto fifth = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 20);
    std::nth_element(values.begin(), fifth, values.end());
    const double high = *std::max_element(fifth, values.end());
    return {std::clamp<double>(*fifth, high - 60, high - 1), high, label};
}

Figure plot(std::span<const HeatMap> panels, const ColourScale& shared) {
    core::expects(!panels.empty(), "a plot requires at least 1 panel");
    std::vector<PanelPlace> places;
    int width = 0;
    int rows = 0;
    const auto needs_bar = [&](std::size_t p) {
        return panels[p].scale || p + 1 == panels.size() || panels[p + 1].scale;
    };
    for (std::size_t p = 0; p < panels.size(); ++p) {
        const HeatMap& map = panels[p];
        core::expects(!map.values.empty(), "plot of an empty map: ", map.values.extent[0], "x",
                      map.values.extent[1]);
        check_scale(map.scale.value_or(shared));
        const auto [x, y] = fit(map);
        const PanelPlace place{x, y, width + left_margin, top_margin};
        width = place.left + place.x.pixels + right_margin + (needs_bar(p) ? bar_columns : 0);
        rows = std::max(rows, place.y.pixels);
        places.push_back(place);
    }
    Figure figure(width, top_margin + rows + bottom_margin);
    for (std::size_t p = 0; p < panels.size(); ++p) {
        const PanelPlace& place = places[p];
        const ColourScale& scale = panels[p].scale ? *panels[p].scale : shared;
        draw_cells(figure, panels[p], place, scale);
        draw_axes(figure, panels[p], place);
        draw_markers(figure, panels[p], place);
        if (!needs_bar(p)) continue;
        draw_colour_bar(figure, place.left + place.x.pixels + right_margin, top_margin,
                        place.y.pixels, scale);
    }
    return figure;
}

}  // namespace aperture::media
