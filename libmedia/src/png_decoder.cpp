// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <bit>
#include <cstring>
#include <utility>

#include "aperture/core/error.hpp"
#include "libmedia/src/stored_image.hpp"

namespace aperture::media {
namespace {

class PngDecoder {
  public:
    explicit PngDecoder(std::string_view bytes)
        : bytes_(bytes),
          png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, ignore)),
          info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {}
    ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
    PngDecoder(const PngDecoder&) = delete;
    PngDecoder& operator=(const PngDecoder&) = delete;

    /// Returns false for damaged data. libpng leaves this function by longjmp: no object in it may
    /// have a destructor.
    bool decode(StoredImage& image) {
        if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
        png_set_read_fn(png_, this, read);
        png_read_info(png_, info_);
        if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
        png_set_expand_gray_1_2_4_to_8(png_);
        png_set_strip_alpha(png_);
        if (std::endian::native == std::endian::little) png_set_swap(png_);
        const int passes = png_set_interlace_handling(png_);
        png_read_update_info(png_, info_);
        image.width = static_cast<int>(png_get_image_width(png_, info_));
        image.height = static_cast<int>(png_get_image_height(png_, info_));
        image.channels = png_get_channels(png_, info_);
        const std::size_t row_bytes = png_get_rowbytes(png_, info_);
        pixels_.resize(row_bytes * static_cast<std::size_t>(image.height));
        for (int pass = 0; pass < passes; ++pass) {
            for (int row = 0; row < image.height; ++row) {
                png_read_row(png_, pixels_.data() + static_cast<std::size_t>(row) * row_bytes,
                             nullptr);
            }
        }
        png_read_end(png_, nullptr);
        return true;
    }
    /// Of a sample: 8 or 16.
    int bits() const { return png_get_bit_depth(png_, info_); }
    /// Samples of 8 bits, or of 16 bits in native byte order.
    std::vector<png_byte>& pixels() { return pixels_; }

  private:
    [[noreturn]] static void fail(png_structp png, png_const_charp) { png_longjmp(png, 1); }
    static void ignore(png_structp, png_const_charp) {}
    static void read(png_structp png, png_bytep to, std::size_t count) {
        auto& decoder = *static_cast<PngDecoder*>(png_get_io_ptr(png));
        if (count > decoder.bytes_.size() - decoder.at_) png_error(png, "truncated");
        std::memcpy(to, decoder.bytes_.data() + decoder.at_, count);
        decoder.at_ += count;
    }

    std::string_view bytes_;
    std::size_t at_ = 0;
    std::vector<png_byte> pixels_;
    png_structp png_;
    png_infop info_;
};

}  // namespace

void decode_png(const std::string& name, std::string_view bytes, StoredImage& image) {
    PngDecoder decoder(bytes);
    core::expects(decoder.decode(image), name, ": not an image, or a damaged one");
    std::vector<png_byte>& pixels = decoder.pixels();
    if (decoder.bits() == 8) {
        image.largest = 255;
        image.samples = std::move(pixels);
    } else {
        image.largest = 65535;
        auto& samples = samples_of<std::uint16_t>(image);
        samples.resize(pixels.size() / sizeof(std::uint16_t));
        std::memcpy(samples.data(), pixels.data(), pixels.size());
    }
}

}  // namespace aperture::media
