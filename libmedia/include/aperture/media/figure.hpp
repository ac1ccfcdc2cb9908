// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "aperture/core/owned.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

/// A position in a figure: pixels to the right of and below its upper left corner.
struct Point {
    double x = 0;
    double y = 0;
};

/// A rectangle with whole or fractional pixels.
struct Box {
    double left = 0;
    double top = 0;
    double width = 0;
    double height = 0;
};

/// How a line is drawn.
struct Pen {
    Colour colour{};
    double width = 1;  ///< pixels
    double dash = 0;   ///< length of dashes and of the gaps between them, pixels; 0: solid
};

/// Position of the given point on a text.
enum class Anchor { left, centre, right };

/// The background of figures.
inline constexpr Colour paper = {255, 255, 255};

/// Largest width and height of a figure in pixels.
inline constexpr int largest_figure = 32767;

/// A drawing of lines, text and pictures on white paper. Everything but pictures stays vectors in
/// PDF and SVG, where a pixel is 1/96 inch. What lies outside is cut off. In a build without Cairo
/// nothing is drawn.
class Figure {
  public:
    /// Throws core::InvalidArgument unless both are 1 to `largest_figure`.
    Figure(int columns, int rows);

    int columns() const { return columns_; }
    int rows() const { return rows_; }

    void fill(const Box& box, Colour colour);
    /// A line through all points, with round ends and corners; they must be finite and within 1e6
    /// pixels of the figure.
    void line(std::span<const Point> points, const Pen& pen);
    void ring(Point centre, double radius, const Pen& pen);
    /// The picture's pixels one to one, its upper left corner at (left, top).
    void picture(const Picture& picture, int left, int top);
    /// One line of text with capital letters of `height` pixels; `at` is on its middle line.
    /// `upward` rotates it to read from bottom to top.
    void text(const std::string& words, Point at, double height, Colour colour,
              Anchor anchor = Anchor::left, bool upward = false);
    /// Restricts what is drawn later to the box, until `unclip`.
    void clip(const Box& box);
    void unclip();

    /// The figure as the PNG has it.
    Picture pixels() const;
    /// The contents of a file with this extension: ".png", ".pdf" or ".svg". Throws
    /// core::InvalidArgument for another one and in a build without Cairo.
    std::string encoded(const std::string& extension) const;

  private:
    struct State;
    int columns_;
    int rows_;
    core::Owned<State> state_;
};

/// Writes the figure as PNG, PDF or SVG by the extension of `target`; the file appears completely
/// or not at all. Throws core::InvalidArgument.
void write_figure(const std::filesystem::path& target, const Figure& figure);
/// The same, without the commit.
AtomicFile new_figure(const std::filesystem::path& target, const Figure& figure);

}  // namespace aperture::media
