// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "aperture/core/error.hpp"

namespace aperture::media {
namespace {

using core::Host;
using core::index_t;
using core::View;

// Sizes in pixels.
constexpr int plot_columns = 640;
constexpr int plot_rows = 400;
constexpr int text_height = 10;
constexpr int title_height = 12;
constexpr int left_margin = 74;
constexpr int right_margin = 20;
constexpr int top_margin = 44;
constexpr int bottom_margin = 60;
constexpr int tick_length = 5;
/// Minimum distances between ticks.
constexpr int tick_columns = 70;
constexpr int tick_rows = 36;

constexpr Colour paper = {255, 255, 255};
constexpr Colour ink = {38, 38, 42};

/// The area of a plot's values.
struct PlotArea {
    int left = 0;
    int top = 0;
    int columns = 0;
    int rows = 0;
};

/// A line around the area.
void draw_frame(Picture& picture, const PlotArea& area) {
    const auto [left, top, columns, rows] = area;
    picture.fill(left - 1, top - 1, columns + 2, 1, ink);
    picture.fill(left - 1, top + rows, columns + 2, 1, ink);
    picture.fill(left - 1, top - 1, 1, rows + 2, ink);
    picture.fill(left + columns, top - 1, 1, rows + 2, ink);
}

/// A tick below the area, or to its left, with its label.
void draw_tick_below(Picture& picture, const PlotArea& area, int x, const std::string& words) {
    const int bottom = area.top + area.rows;
    picture.fill(x, bottom + 1, 1, tick_length, ink);
    draw_text(picture, words, x, bottom + 18, text_height, ink, Anchor::centre);
}

void draw_tick_left(Picture& picture, const PlotArea& area, int y, const std::string& words) {
    picture.fill(area.left - 1 - tick_length, y, tick_length, 1, ink);
    draw_text(picture, words, area.left - tick_length - 3, y, text_height, ink, Anchor::right);
}

void draw_labels(Picture& picture, const PlotArea& area, const std::string& x, const std::string& y,
                 const std::string& title) {
    const int middle = area.left + area.columns / 2;
    draw_text(picture, x, middle, area.top + area.rows + 42, text_height, ink, Anchor::centre);
    draw_text(picture, y, area.left - 58, area.top + area.rows / 2, text_height, ink,
              Anchor::centre, true);
    draw_text(picture, title, middle, area.top - 20, title_height, ink, Anchor::centre);
}

/// Distance between ticks; for a single one, its absolute value but at least 1.
double step_of(const std::vector<double>& ticks) {
    return ticks.size() > 1 ? std::abs(ticks[1] - ticks[0]) : std::max(1.0, std::abs(ticks[0]));
}

/// `value` with the decimals required for ticks `step` apart.
std::string tick_text(double value, double step) {
    const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
    std::array<char, 64> words{};
    std::snprintf(words.data(), words.size(), "%.*f", decimals,
                  std::abs(value) < step / 2 ? 0 : value);
    return words.data();
}

constexpr int bar_width = 18;
constexpr int bar_margin = 66;
constexpr float marker_radius = 9;

// Cells without a value are hatched with stripes that fall from left to right.
constexpr Colour undefined = {150, 150, 150};
constexpr Colour undefined_stripe = {235, 235, 235};
constexpr int stripe_period = 8;
constexpr int stripe_width = 3;

double to_srgb(double linear) {
    return linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}

// OKLab to linear sRGB: Ottosson's matrices (2020).
std::array<double, 3> linear_rgb(double lightness, double a, double b) {
    const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

std::array<Colour, 256> colour_table() {
    std::array<Colour, 256> table;
    for (int i = 0; i < 256; ++i) {
        const double position = i / 255.0;
        table[static_cast<std::size_t>(i)] = colour_at(position);
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

void draw_cells(Picture& picture, const HeatMap& map, const PanelPlace& place,
                const ColourScale& scale, const std::array<Colour, 256>& table) {
    for (int row = 0; row < place.y.pixels; ++row) {
        const index_t y =
            index_t{place.y.pixels - 1 - row} / place.y.pixels_per_cell * place.y.cells_per_pixel;
        for (int column = 0; column < place.x.pixels; ++column) {
            const index_t x = index_t{column} / place.x.pixels_per_cell * place.x.cells_per_pixel;
            const float value = largest(map.values, y, x, place);
            const double position =
                std::clamp((value - scale.low) / (scale.high - scale.low), 0.0, 1.0);
            const bool stripe = (column - row + place.y.pixels) % stripe_period < stripe_width;
            picture.at(place.left + column, place.top + row) =
                std::isnan(value) ? (stripe ? undefined_stripe : undefined)
                                  : table[static_cast<std::size_t>(std::lround(255 * position))];
        }
    }
}

void draw_axes(Picture& picture, const HeatMap& map, const PanelPlace& place) {
    const PlotArea area = place.area();
    draw_frame(picture, area);
    const std::vector<double> across = ticks(map.x.first, map.x.last, area.columns / tick_columns);
    for (const double value : across) {
        const auto x =
            static_cast<int>(std::lround(place.column(map.x, map.values.extent[1], value)));
        draw_tick_below(picture, area, x, tick_text(value, step_of(across)));
    }
    const std::vector<double> up = ticks(map.y.first, map.y.last, area.rows / tick_rows);
    for (const double value : up) {
        const auto y = static_cast<int>(std::lround(place.row(map.y, map.values.extent[0], value)));
        draw_tick_left(picture, area, y, tick_text(value, step_of(up)));
    }
    draw_labels(picture, area, map.x.label, map.y.label, map.title);
}

void draw_markers(Picture& picture, const HeatMap& map, const PanelPlace& place) {
    for (const Marker& marker : map.markers) {
        const auto x = static_cast<float>(place.column(map.x, map.values.extent[1], marker.x));
        const auto y = static_cast<float>(place.row(map.y, map.values.extent[0], marker.y));
        picture.ring(x, y, marker_radius, 4, ink);
        picture.ring(x, y, marker_radius, 2, paper);
    }
}

void draw_colour_bar(Picture& picture, int left, int top, int rows, const ColourScale& scale) {
    for (int row = 0; row < rows; ++row) {
        picture.fill(left, top + row, bar_width, 1,
                     colour_at(1 - row / static_cast<double>(std::max(1, rows - 1))));
    }
    draw_frame(picture, {left, top, bar_width, rows});
    const std::vector<double> values = ticks(scale.low, scale.high, rows / tick_rows);
    for (const double value : values) {
        const double position = (value - scale.low) / (scale.high - scale.low);
        const int y = top + static_cast<int>(std::lround((1 - position) * (rows - 1)));
        picture.fill(left + bar_width + 1, y, tick_length, 1, ink);
        draw_text(picture, tick_text(value, step_of(values)), left + bar_width + tick_length + 3, y,
                  text_height, ink);
    }
    draw_text(picture, scale.unit, left + bar_width / 2, top - 20, text_height, ink,
              Anchor::centre);
}

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

ColourScale common_range(std::span<const HeatMap> panels) {
    std::vector<float> values;
    for (const HeatMap& map : panels) {
        for (index_t y = 0; y < map.values.extent[0]; ++y) {
            for (index_t x = 0; x < map.values.extent[1]; ++x) {
                if (std::isfinite(map.values(y, x))) values.push_back(map.values(y, x));
            }
        }
    }
    if (values.empty()) return {-1, 0};
    const auto fifth = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 20);
    std::nth_element(values.begin(), fifth, values.end());
    const double high = *std::max_element(fifth, values.end());
    return {std::clamp<double>(*fifth, high - 60, high - 1), high};
}

Colour colour_at(double position) {
    const double p = std::clamp(position, 0.0, 1.0);
    const double lightness = 0.24 + 0.70 * p;
    // From violet through blue and green to yellow; the chroma always stays inside sRGB.
    const double hue = (300 - 195 * p) * std::numbers::pi / 180;
    const double chroma = 0.097 - 0.06 * p + 0.128 * p * p;
    const auto linear = linear_rgb(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
    Colour colour;
    for (std::size_t c = 0; c < 3; ++c) {
        colour[c] =
            static_cast<std::uint8_t>(std::lround(255 * to_srgb(std::clamp(linear[c], 0.0, 1.0))));
    }
    return colour;
}

std::vector<double> ticks(double first, double last, int most) {
    const double low = std::min(first, last);
    const double high = std::max(first, last);
    if (!std::isfinite(low) || !std::isfinite(high) || !(high > low)) return {first};
    double step = std::pow(10, std::floor(std::log10((high - low) / std::max(1, most))));
    const auto first_multiple = [&] { return std::ceil(low / step - 1e-9); };
    const auto multiples = [&] { return std::floor(high / step + 1e-9) - first_multiple() + 1; };
    for (const double factor : {2.0, 2.5, 2.0, 2.0, 2.5}) {
        if (multiples() <= std::max(1, most)) break;
        step *= factor;
    }
    std::vector<double> values;
    const auto count = static_cast<int>(multiples());
    for (int i = 0; i < count; ++i) values.push_back((first_multiple() + i) * step);
    if (values.empty()) values.push_back(low);
    return values;
}

Picture plot(std::span<const HeatMap> panels, std::optional<ColourScale> given) {
    core::expects(!panels.empty(), "a plot requires at least 1 panel");
    const ColourScale scale = given ? *given : common_range(panels);
    core::expects(std::isfinite(scale.low) && scale.low < scale.high && std::isfinite(scale.high),
                  "plot range must be finite and increasing, is ", scale.low, " to ", scale.high,
                  ' ', scale.unit);
    std::vector<PanelPlace> places;
    int width = 0;
    int rows = 0;
    for (const HeatMap& map : panels) {
        core::expects(!map.values.empty(), "plot of an empty map: ", map.values.extent[0], "x",
                      map.values.extent[1]);
        const auto [x, y] = fit(map);
        const PanelPlace place{x, y, width + left_margin, top_margin};
        width = place.left + place.x.pixels + right_margin;
        rows = std::max(rows, place.y.pixels);
        places.push_back(place);
    }
    Picture picture(width + bar_width + bar_margin, top_margin + rows + bottom_margin, paper);
    const std::array<Colour, 256> table = colour_table();
    for (std::size_t p = 0; p < panels.size(); ++p) {
        draw_cells(picture, panels[p], places[p], scale, table);
        draw_axes(picture, panels[p], places[p]);
        draw_markers(picture, panels[p], places[p]);
    }
    draw_colour_bar(picture, width + 4, top_margin, rows, scale);
    return picture;
}

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
