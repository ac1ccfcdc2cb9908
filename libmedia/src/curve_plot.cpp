// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"
#include "aperture/media/plot.hpp"
#include "libmedia/src/plot_axes.hpp"

namespace aperture::media {
namespace {

constexpr int legend_columns = 220;
constexpr int legend_row = 20;
constexpr int sample_columns = 36;
constexpr float curve_width = 1.8F;
constexpr float solid = std::numeric_limits<float>::infinity();

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
/// Lengths of dashes and of the gaps after them.
constexpr std::array<float, 3> dashes = {solid, 9, 3};

struct Style {
    Colour colour;
    float dash;
};

Style style_of(std::size_t curve) {
    return {colours[curve % colours.size()], dashes[curve / colours.size() % dashes.size()]};
}

bool is_drawn(double y) { return y > 0 && std::isfinite(y); }

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

/// The plane of the curves: x, and log10 y.
struct Plane {
    PlotArea area{left_margin, top_margin, plot_columns, plot_rows};
    Range x;
    Range y;

    float column(double value) const {
        return static_cast<float>(area.left + (value - x.low) / (x.high - x.low) *
                                                  static_cast<double>(area.columns - 1));
    }
    float row(double decade) const {
        return static_cast<float>(area.top + (y.high - decade) / (y.high - y.low) *
                                                 static_cast<double>(area.rows - 1));
    }
};

Plane plane_of(const CurvePlot& plot) {
    Plane plane;
    for (const Curve& curve : plot.curves) {
        core::expects(curve.x.size() == curve.y.size(), "curve has ", curve.x.size(), " x but ",
                      curve.y.size(), " y");
        for (std::size_t i = 0; i < curve.x.size(); ++i) {
            core::expects(std::isfinite(curve.x[i]), "x of a curve must be finite, is ",
                          curve.x[i]);
            plane.x.include(curve.x[i]);
            if (is_drawn(curve.y[i])) plane.y.include(std::log10(curve.y[i]));
        }
    }
    if (!(plane.x.low < plane.x.high)) plane.x = {0, 1};
    if (!(plane.y.low <= plane.y.high)) plane.y = {-1, 0};
    plane.y.high = std::ceil(plane.y.high - 1e-9);
    plane.y.low = std::max(std::floor(plane.y.low + 1e-9), plane.y.high - most_decades);
    if (plane.y.low == plane.y.high) plane.y.low -= 1;
    return plane;
}

void draw_axes(Picture& picture, const CurvePlot& plot, const Plane& plane) {
    const PlotArea& area = plane.area;
    const std::vector<double> across =
        ticks(plane.x.low, plane.x.high, area.columns / tick_columns);
    for (const double value : across) {
        const auto x = static_cast<int>(std::lround(plane.column(value)));
        picture.fill(x, area.top, 1, area.rows, grid);
        draw_tick_below(picture, area, x, tick_text(value, step_of(across)));
    }
    const auto highest = static_cast<int>(plane.y.high);
    for (auto decade = static_cast<int>(plane.y.low); decade <= highest; ++decade) {
        const auto y = static_cast<int>(std::lround(plane.row(decade)));
        picture.fill(area.left, y, area.columns, 1, grid);
        draw_tick_left(picture, area, y, core::text("1e", decade));
    }
    draw_frame(picture, area);
    draw_labels(picture, area, plot.x_label, plot.y_label, plot.title);
}

/// A line with dashes that continue from one segment to the next.
class Pen {
  public:
    Pen(Picture& picture, Style style) : picture_(picture), style_(style) {}

    void line(float x0, float y0, float x1, float y1) {
        const float length = std::hypot(x1 - x0, y1 - y0);
        for (float at = 0; at < length;) {
            const float left = style_.dash - within_;
            const bool ends = left <= length - at;
            const float end = ends ? at + left : length;
            if (down_) {
                const auto part = [&](float from, float to, float distance) {
                    return from + (to - from) * distance / length;
                };
                picture_.line(part(x0, x1, at), part(y0, y1, at), part(x0, x1, end),
                              part(y0, y1, end), curve_width, style_.colour);
            }
            within_ = ends ? 0 : within_ + end - at;
            if (ends) down_ = !down_;
            at = end;
        }
    }

  private:
    Picture& picture_;
    Style style_;
    float within_ = 0;  ///< pixels drawn of the current dash or gap
    bool down_ = true;
};

void draw_curve(Picture& picture, const Curve& curve, const Plane& plane, Style style) {
    Pen pen(picture, style);
    for (std::size_t i = 1; i < curve.x.size(); ++i) {
        if (!is_drawn(curve.y[i - 1]) || !is_drawn(curve.y[i])) continue;
        const auto row = [&](double y) { return plane.row(std::max(std::log10(y), plane.y.low)); };
        pen.line(plane.column(curve.x[i - 1]), row(curve.y[i - 1]), plane.column(curve.x[i]),
                 row(curve.y[i]));
    }
}

}  // namespace

Picture plot(const CurvePlot& plot) {
    const Plane plane = plane_of(plot);
    const PlotArea& area = plane.area;
    const bool legend = plot.curves.size() > 1;
    const int legend_rows = legend ? legend_row * static_cast<int>(plot.curves.size()) : 0;
    Picture picture(area.left + area.columns + right_margin + (legend ? legend_columns : 0),
                    area.top + std::max(area.rows, legend_rows) + bottom_margin, paper);
    draw_axes(picture, plot, plane);
    for (std::size_t i = 0; i < plot.curves.size(); ++i) {
        const Style style = style_of(i);
        draw_curve(picture, plot.curves[i], plane, style);
        if (!legend) continue;
        const int left = area.left + area.columns + right_margin;
        const int y = area.top + legend_row / 2 + legend_row * static_cast<int>(i);
        Pen(picture, style)
            .line(static_cast<float>(left), static_cast<float>(y),
                  static_cast<float>(left + sample_columns), static_cast<float>(y));
        draw_text(picture, plot.curves[i].label, left + sample_columns + 8, y, text_height, ink);
    }
    return picture;
}

}  // namespace aperture::media
