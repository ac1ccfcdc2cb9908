// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"
#include "libmedia/src/plot_axes.hpp"

namespace aperture::media {
namespace {

constexpr int legend_columns = 220;
constexpr int legend_row = 20;
constexpr int sample_columns = 36;
constexpr double curve_width = 1.8;

constexpr int most_decades = 16;
constexpr Colour grid = {225, 225, 228};

// Okabe & Ito (2008), also distinct for colour-blind readers; without yellow, which is too light
// for a line.
constexpr std::array<Colour, 7> colours = {{{0, 114, 178},
                                            {213, 94, 0},
                                            {0, 158, 115},
                                            {204, 121, 167},
                                            {38, 38, 42},
                                            {86, 180, 233},
                                            {230, 159, 0}}};
constexpr std::array<double, 3> dashes = {0, 9, 3};

Pen pen_of(std::size_t curve) {
    return {colours[curve % colours.size()], curve_width,
            dashes[curve / colours.size() % dashes.size()]};
}

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

/// The plane of the curves: x or log10 x, and y or log10 y.
struct Plane {
    PlotArea area{left_margin, top_margin, plot_columns, plot_rows};
    bool logarithmic;
    bool logarithmic_x;
    Range x{};
    Range y{};

    bool is_drawn(double value) const {
        return std::isfinite(value) && (!logarithmic || value > 0);
    }
    double height(double value) const { return logarithmic ? std::log10(value) : value; }
    double across(double value) const { return logarithmic_x ? std::log10(value) : value; }
    double column(double value) const {
        return area.left + (across(value) - x.low) / (x.high - x.low) * (area.columns - 1) + 0.5;
    }
    double row(double at) const {
        return area.top + (y.high - at) / (y.high - y.low) * (area.rows - 1) + 0.5;
    }
};

void settle_decades(Range& y) {
    if (!(y.low <= y.high)) y = {-1, 0};
    y.high = std::ceil(y.high - 1e-9);
    y.low = std::max(std::floor(y.low + 1e-9), y.high - most_decades);
    if (y.low == y.high) y.low -= 1;
}

void settle_linear(Range& y, double lowest) {
    if (!(y.low <= y.high)) y = {-1, 0};
    y.low = std::max(y.low, std::min(lowest, y.high));
    // A twentieth of the height stays free above and below.
    const double margin = y.low < y.high ? (y.high - y.low) / 20 : 1;
    y.low -= margin;
    y.high += margin;
}

Plane plane_of(const CurvePlot& plot) {
    Plane plane{.logarithmic = plot.logarithmic, .logarithmic_x = plot.logarithmic_x};
    for (const Curve& curve : plot.curves) {
        core::expects(curve.x.size() == curve.y.size(), "curve has ", curve.x.size(), " x but ",
                      curve.y.size(), " y");
        for (std::size_t i = 0; i < curve.x.size(); ++i) {
            const double across = plane.across(curve.x[i]);
            core::expects(std::isfinite(across), "x of a curve must be finite, is ", curve.x[i]);
            plane.x.include(across);
            if (plane.is_drawn(curve.y[i])) plane.y.include(plane.height(curve.y[i]));
        }
    }
    if (!(plane.x.low < plane.x.high)) plane.x = {0, 1};
    if (plot.logarithmic) {
        settle_decades(plane.y);
    } else {
        settle_linear(plane.y, plot.lowest);
    }
    return plane;
}

void draw_rows(Figure& figure, const Plane& plane) {
    const PlotArea& area = plane.area;
    const auto draw = [&](double at, const std::string& words) {
        const auto y = static_cast<int>(std::floor(plane.row(at)));
        figure.fill({double(area.left), double(y), double(area.columns), 1}, grid);
        draw_tick_left(figure, area, y, words);
    };
    if (plane.logarithmic) {
        const auto highest = static_cast<int>(plane.y.high);
        for (auto decade = static_cast<int>(plane.y.low); decade <= highest; ++decade) {
            draw(decade, core::text("1e", decade));
        }
        return;
    }
    const std::vector<double> values = ticks(plane.y.low, plane.y.high, area.rows / tick_rows);
    for (const double value : values) draw(value, tick_text(value, step_of(values)));
}

void draw_axes(Figure& figure, const CurvePlot& plot, const Plane& plane) {
    const PlotArea& area = plane.area;
    const int most = area.columns / tick_columns;
    const std::vector<double> across =
        plane.logarithmic_x
            ? logarithmic_ticks(std::pow(10, plane.x.low), std::pow(10, plane.x.high), most)
            : ticks(plane.x.low, plane.x.high, most);
    for (const double value : across) {
        const auto x = static_cast<int>(std::floor(plane.column(value)));
        figure.fill({double(x), double(area.top), 1, double(area.rows)}, grid);
        draw_tick_below(
            figure, area, x,
            plane.logarithmic_x ? core::text(value) : tick_text(value, step_of(across)));
    }
    draw_rows(figure, plane);
    draw_frame(figure, area);
    draw_labels(figure, area, plot.x_label, plot.y_label, plot.title);
}

void draw_curve(Figure& figure, const Curve& curve, const Plane& plane, const Pen& pen) {
    std::vector<Point> points;
    const auto draw = [&] {
        figure.line(points, pen);
        points.clear();
    };
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
        if (!plane.is_drawn(curve.y[i])) {
            draw();
            continue;
        }
        const double at = std::clamp(plane.height(curve.y[i]), plane.y.low, plane.y.high);
        points.push_back({plane.column(curve.x[i]), plane.row(at)});
    }
    draw();
}

}  // namespace

Figure plot(const CurvePlot& plot) {
    const Plane plane = plane_of(plot);
    const PlotArea& area = plane.area;
    const bool legend = plot.curves.size() > 1;
    const int legend_rows = legend ? legend_row * static_cast<int>(plot.curves.size()) : 0;
    Figure figure(area.left + area.columns + right_margin + (legend ? legend_columns : 0),
                  area.top + std::max(area.rows, legend_rows) + bottom_margin);
    draw_axes(figure, plot, plane);
    for (const double x : plot.marked_x) {
        const double column =
            std::clamp(plane.column(x), double(area.left), double(area.left + area.columns));
        figure.line(std::array{Point{column, double(area.top)},
                               Point{column, double(area.top + area.rows)}},
                    {ink, 1, 3});
    }
    for (std::size_t i = 0; i < plot.curves.size(); ++i) {
        const Pen pen = pen_of(i);
        draw_curve(figure, plot.curves[i], plane, pen);
        if (!legend) continue;
        const double left = area.left + area.columns + right_margin;
        const double y = area.top + legend_row * (static_cast<double>(i) + 0.5);
        figure.line(std::array{Point{left, y}, Point{left + sample_columns, y}}, pen);
        figure.text(plot.curves[i].label, {left + sample_columns + 8, y}, text_height, ink);
    }
    return figure;
}

}  // namespace aperture::media
