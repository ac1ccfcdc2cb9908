// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/plot_axes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "aperture/signal/colour_map.hpp"

namespace aperture::media {

namespace {

constexpr int bar_width = 18;

}  // namespace

void draw_frame(Figure& figure, const PlotArea& area) {
    const auto [left, top, columns, rows] = area.box();
    figure.fill({left - 1, top - 1, columns + 2, 1}, ink);
    figure.fill({left - 1, top + rows, columns + 2, 1}, ink);
    figure.fill({left - 1, top - 1, 1, rows + 2}, ink);
    figure.fill({left + columns, top - 1, 1, rows + 2}, ink);
}

void draw_tick_below(Figure& figure, const PlotArea& area, int x, const std::string& words) {
    const double bottom = area.top + area.rows;
    figure.fill({double(x), bottom + 1, 1, tick_length}, ink);
    figure.text(words, {x + 0.5, bottom + 18}, text_height, ink, Anchor::centre);
}

void draw_tick_left(Figure& figure, const PlotArea& area, int y, const std::string& words) {
    const double left = area.left - 1 - tick_length;
    figure.fill({left, double(y), tick_length, 1}, ink);
    figure.text(words, {left - 3, y + 0.5}, text_height, ink, Anchor::right);
}

void draw_labels(Figure& figure, const PlotArea& area, const std::string& x, const std::string& y,
                 const std::string& title) {
    const double middle = area.left + area.columns / 2.0;
    figure.text(x, {middle, area.top + area.rows + 42.0}, text_height, ink, Anchor::centre);
    figure.text(y, {area.left - 58.0, area.top + area.rows / 2.0}, text_height, ink, Anchor::centre,
                true);
    figure.text(title, {middle, area.top - 20.0}, title_height, ink, Anchor::centre);
}

void draw_colour_bar(Figure& figure, int left, int top, int rows, const ColourScale& scale) {
    Picture colours(bar_width, rows, paper);
    for (int row = 0; row < rows; ++row) {
        const Colour colour =
            signal::colour_at(1 - row / static_cast<double>(std::max(1, rows - 1)));
        for (int column = 0; column < bar_width; ++column) colours.at(column, row) = colour;
    }
    figure.picture(colours, left, top);
    draw_frame(figure, {left, top, bar_width, rows});
    const double right = left + bar_width;
    const std::vector<double> values = ticks(scale.low, scale.high, rows / tick_rows);
    for (const double value : values) {
        const double position = (value - scale.low) / (scale.high - scale.low);
        const double y = top + std::round((1 - position) * (rows - 1));
        figure.fill({right + 1, y, tick_length, 1}, ink);
        figure.text(tick_text(value, step_of(values)), {right + tick_length + 4, y + 0.5},
                    text_height, ink);
    }
    figure.text(scale.label, {right + 62, top + rows / 2.0}, text_height, ink, Anchor::centre,
                true);
}

double step_of(const std::vector<double>& ticks) {
    return ticks.size() > 1 ? std::abs(ticks[1] - ticks[0]) : std::max(1.0, std::abs(ticks[0]));
}

std::string tick_text(double value, double step) {
    const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
    std::array<char, 64> words{};
    std::snprintf(words.data(), words.size(), "%.*f", decimals,
                  std::abs(value) < step / 2 ? 0 : value);
    return words.data();
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

std::vector<double> logarithmic_ticks(double low, double high, int most) {
    const double ends[2] = {low * (1 - 1e-9), high * (1 + 1e-9)};
    const auto first = static_cast<int>(std::ceil(std::log10(ends[0])));
    const auto last = static_cast<int>(std::floor(std::log10(ends[1])));
    const bool few = 3 * (last - first + 1) <= most;
    const int step = few ? 1 : 1 + (last - first) / std::max(1, most);
    std::vector<double> values;
    for (int decade = few ? first - 1 : first; decade <= last; decade += step) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * std::pow(10, decade);
            const bool inside = value >= ends[0] && value <= ends[1];
            if (inside && (few || factor == 1)) values.push_back(value);
        }
    }
    return values.size() < 2 ? ticks(low, high, most) : values;
}

}  // namespace aperture::media
