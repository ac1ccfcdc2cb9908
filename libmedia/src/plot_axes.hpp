// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Frame, ticks, labels and colour bar of a plot.

#include <string>
#include <vector>

#include "aperture/media/plot.hpp"

namespace aperture::media {

// Sizes in pixels.
inline constexpr int plot_columns = 640;
inline constexpr int plot_rows = 400;
inline constexpr int text_height = 9;
inline constexpr int title_height = 11;
inline constexpr int left_margin = 74;
inline constexpr int right_margin = 20;
inline constexpr int top_margin = 44;
inline constexpr int bottom_margin = 60;
inline constexpr int tick_length = 5;
/// Minimum distances between ticks.
inline constexpr int tick_columns = 70;
inline constexpr int tick_rows = 36;
/// Width of a colour bar with its ticks and label.
inline constexpr int bar_columns = 100;

inline constexpr Colour ink = {38, 38, 42};

/// The area of a plot's values.
struct PlotArea {
    int left = 0;
    int top = 0;
    int columns = 0;
    int rows = 0;

    Box box() const { return {double(left), double(top), double(columns), double(rows)}; }
};

/// Draws a line around the area.
void draw_frame(Figure& figure, const PlotArea& area);

/// Draws a tick below the area, or to its left, with its label.
void draw_tick_below(Figure& figure, const PlotArea& area, int x, const std::string& words);
void draw_tick_left(Figure& figure, const PlotArea& area, int y, const std::string& words);

/// Draws the labels of both axes, and the title.
void draw_labels(Figure& figure, const PlotArea& area, const std::string& x, const std::string& y,
                 const std::string& title);

/// Draws the colours of a scale with its ticks, and its label beside them.
void draw_colour_bar(Figure& figure, int left, int top, int rows, const ColourScale& scale);

/// Distance between ticks; for a single one, its absolute value but at least 1.
double step_of(const std::vector<double>& ticks);

/// `value` with the decimals required for ticks `step` apart.
std::string tick_text(double value, double step);

}  // namespace aperture::media
