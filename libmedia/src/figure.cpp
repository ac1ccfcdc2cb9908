// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/figure.hpp"

#include "aperture/core/error.hpp"
#include "libmedia/src/output_mark.hpp"
#include "libmedia/src/png_encoder.hpp"

#if APERTURE_CAIRO
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>
#endif

namespace aperture::media {

#if APERTURE_CAIRO

namespace {

constexpr double points_per_pixel = 0.75;  // 72 and 96 per inch
constexpr double capital_height = 0.72;    // of a font's size, about the same in all sans fonts

struct DestroySurface {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
using Surface = std::unique_ptr<cairo_surface_t, DestroySurface>;

struct DestroyContext {
    void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Context = std::unique_ptr<cairo_t, DestroyContext>;

void check(cairo_status_t status) {
    if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
    core::expects(status == CAIRO_STATUS_SUCCESS, "figure: ", cairo_status_to_string(status));
}

void set_source(cairo_t* context, Colour colour) {
    const auto [red, green, blue] = colour;
    cairo_set_source_rgb(context, red / 255.0, green / 255.0, blue / 255.0);
}

void stroke(cairo_t* context, const Pen& pen) {
    set_source(context, pen.colour);
    cairo_set_line_width(context, pen.width);
    cairo_set_line_cap(context, pen.dash > 0 ? CAIRO_LINE_CAP_BUTT : CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(context, &pen.dash, pen.dash > 0 ? 1 : 0, 0);
    cairo_stroke(context);
}

/// The words of a row of CAIRO_FORMAT_RGB24: red in bits 16 to 23, green 8 to 15, blue 0 to 7.
std::uint32_t* row_of(cairo_surface_t* image, int row) {
    unsigned char* data = cairo_image_surface_get_data(image);
    const std::ptrdiff_t stride = cairo_image_surface_get_stride(image);
    return reinterpret_cast<std::uint32_t*>(data + row * stride);
}

Surface new_image(int columns, int rows) {
    Surface image(cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows));
    check(cairo_surface_status(image.get()));
    return image;
}

cairo_status_t append_bytes(void* text, const unsigned char* data, unsigned length) noexcept {
    try {
        static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(data), length);
        return CAIRO_STATUS_SUCCESS;
    } catch (const std::bad_alloc&) {
        return CAIRO_STATUS_NO_MEMORY;
    }
}

}  // namespace

struct Figure::State {
    Surface recording;
    Context context;

    /// Repeats the drawing on a surface whose units are the figure's pixels.
    void draw_on(cairo_surface_t* target, double scale) const {
        const Context other(cairo_create(target));
        cairo_scale(other.get(), scale, scale);
        cairo_set_source_surface(other.get(), recording.get(), 0, 0);
        cairo_paint(other.get());
        check(cairo_status(other.get()));
    }
};

Figure::Figure(int columns, int rows) : columns_(columns), rows_(rows) {
    core::expects(columns >= 1 && rows >= 1 && columns <= largest_figure && rows <= largest_figure,
                  "figure of ", columns, " x ", rows, " pixels, expected 1 to ", largest_figure);
    const cairo_rectangle_t extents{0, 0, double(columns), double(rows)};
    auto state = std::make_unique<State>();
    state->recording.reset(cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &extents));
    state->context.reset(cairo_create(state->recording.get()));
    cairo_t* const context = state->context.get();
    check(cairo_status(context));
    cairo_select_font_face(context, "sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    state_ = core::owned(std::move(state));
    fill({0, 0, double(columns), double(rows)}, paper);
}

void Figure::fill(const Box& box, Colour colour) {
    cairo_t* const context = state_->context.get();
    cairo_rectangle(context, box.left, box.top, box.width, box.height);
    set_source(context, colour);
    cairo_fill(context);
}

void Figure::line(std::span<const Point> points, const Pen& pen) {
    for (const auto& [x, y] : points) cairo_line_to(state_->context.get(), x, y);
    stroke(state_->context.get(), pen);
}

void Figure::ring(Point centre, double radius, const Pen& pen) {
    cairo_t* const context = state_->context.get();
    cairo_arc(context, centre.x, centre.y, radius, 0, 2 * std::numbers::pi);
    cairo_close_path(context);
    stroke(context, pen);
}

void Figure::picture(const Picture& picture, int left, int top) {
    const Surface image = new_image(picture.width, picture.height);
    for (int y = 0; y < picture.height; ++y) {
        std::uint32_t* const row = row_of(image.get(), y);
        for (int x = 0; x < picture.width; ++x) {
            const auto [red, green, blue] = picture.at(x, y);
            row[x] = static_cast<std::uint32_t>(red << 16 | green << 8 | blue);
        }
    }
    cairo_surface_mark_dirty(image.get());
    cairo_t* const context = state_->context.get();
    cairo_set_source_surface(context, image.get(), left, top);
    // Viewers of PDF must not smooth the pixels.
    cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_NEAREST);
    cairo_rectangle(context, left, top, picture.width, picture.height);
    cairo_fill(context);
}

void Figure::text(const std::string& words, Point at, double height, Colour colour, Anchor anchor,
                  bool upward) {
    cairo_t* const context = state_->context.get();
    cairo_save(context);
    cairo_set_font_size(context, height / capital_height);
    cairo_text_extents_t extents;
    cairo_text_extents(context, words.c_str(), &extents);
    const double share = anchor == Anchor::left ? 0 : anchor == Anchor::centre ? 0.5 : 1;
    cairo_translate(context, at.x, at.y);
    if (upward) cairo_rotate(context, -std::numbers::pi / 2);
    cairo_move_to(context, -share * extents.x_advance, height / 2);
    set_source(context, colour);
    cairo_show_text(context, words.c_str());
    // The end of the text would be the start of the next line.
    cairo_new_path(context);
    cairo_restore(context);
}

void Figure::clip(const Box& box) {
    cairo_t* const context = state_->context.get();
    cairo_save(context);
    cairo_rectangle(context, box.left, box.top, box.width, box.height);
    cairo_clip(context);
}

void Figure::unclip() { cairo_restore(state_->context.get()); }

Picture Figure::pixels() const {
    check(cairo_status(state_->context.get()));
    const Surface image = new_image(columns_, rows_);
    state_->draw_on(image.get(), 1);
    cairo_surface_flush(image.get());
    Picture picture(columns_, rows_, paper);
    for (int y = 0; y < rows_; ++y) {
        const std::uint32_t* const row = row_of(image.get(), y);
        for (int x = 0; x < columns_; ++x) {
            picture.at(x, y) = {static_cast<std::uint8_t>(row[x] >> 16),
                                static_cast<std::uint8_t>(row[x] >> 8),
                                static_cast<std::uint8_t>(row[x])};
        }
    }
    return picture;
}

std::string Figure::encoded(const std::string& extension) const {
    if (extension == ".png") return with_mark(encode_png("figure", pixels()));
    core::expects(extension == ".pdf" || extension == ".svg", "figure format ", extension,
                  ", expected .png, .pdf or .svg");
    check(cairo_status(state_->context.get()));
    std::string bytes;
    const double width = points_per_pixel * columns_;
    const double height = points_per_pixel * rows_;
    const bool pdf = extension == ".pdf";
    const Surface surface(
        pdf ? cairo_pdf_surface_create_for_stream(append_bytes, &bytes, width, height)
            : cairo_svg_surface_create_for_stream(append_bytes, &bytes, width, height));
    check(cairo_surface_status(surface.get()));
    if (pdf) {
        cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATOR, output_mark);
    }
    state_->draw_on(surface.get(), points_per_pixel);
    cairo_surface_finish(surface.get());
    check(cairo_surface_status(surface.get()));
    return bytes;
}

#else

struct Figure::State {};

Figure::Figure(int columns, int rows) : columns_(columns), rows_(rows) {}
void Figure::fill(const Box&, Colour) {}
void Figure::line(std::span<const Point>, const Pen&) {}
void Figure::ring(Point, double, const Pen&) {}
void Figure::picture(const Picture&, int, int) {}
void Figure::text(const std::string&, Point, double, Colour, Anchor, bool) {}
void Figure::clip(const Box&) {}
void Figure::unclip() {}
Picture Figure::pixels() const { return {columns_, rows_, paper}; }
std::string Figure::encoded(const std::string&) const {
    throw core::InvalidArgument("figures require a build with Cairo");
}

#endif

AtomicFile new_figure(const std::filesystem::path& target, const Figure& figure) {
    std::string bytes;
    try {
        bytes = figure.encoded(target.extension().string());
    } catch (const core::InvalidArgument& reason) {
        throw core::InvalidArgument(core::text(target.string(), ": cannot write: ", reason.what()));
    }
    return new_file(target, bytes);
}

void write_figure(const std::filesystem::path& target, const Figure& figure) {
    new_figure(target, figure).commit();
}

}  // namespace aperture::media
