// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/plot_axes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "aperture/media/plot.hpp"

namespace aperture::media {

void draw_frame(Picture& picture, const PlotArea& area) {
    const auto [left, top, columns, rows] = area;
    picture.fill(left - 1, top - 1, columns + 2, 1, ink);
    picture.fill(left - 1, top + rows, columns + 2, 1, ink);
    picture.fill(left - 1, top - 1, 1, rows + 2, ink);
    picture.fill(left + columns, top - 1, 1, rows + 2, ink);
}

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

}  // namespace aperture::media
