// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/png_encoder.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "libmedia/src/byte_order.hpp"
#include "libmedia/src/image_structure.hpp"

namespace aperture::media {
namespace {

/// Of the levels 1 to 12 the fastest. Files of photographs are 7 % smaller with level 3, which
/// takes twice as long.
constexpr int deflate_level = 1;
constexpr char up_filter = 2;
/// Far below the 2^31 - 1 that a chunk may have.
constexpr std::size_t most_chunk_bytes = std::size_t{1} << 30;

struct FreeCompressor {
    void operator()(libdeflate_compressor* compressor) const {
        libdeflate_free_compressor(compressor);
    }
};

bool is_grey(const Picture& picture) {
    return std::all_of(picture.pixels.begin(), picture.pixels.end(), [](const Colour& pixel) {
        return pixel[0] == pixel[1] && pixel[1] == pixel[2];
    });
}

std::string ihdr(const PngPixels& pixels) {
    const int colour_type = pixels.channels == 3 ? 2 : 0;
    return "IHDR" + big_endian_bytes(static_cast<std::uint32_t>(pixels.width)) +
           big_endian_bytes(static_cast<std::uint32_t>(pixels.height)) +
           std::string{static_cast<char>(pixels.bits), static_cast<char>(colour_type), 0, 0, 0};
}

/// Rows, each behind the number of its filter and less the row above it (section 9.2).
std::string filtered(const PngPixels& pixels, std::size_t row_bytes) {
    const auto rows = static_cast<std::size_t>(pixels.height);
    std::string to((row_bytes + 1) * rows, up_filter);
    std::copy_n(pixels.bytes.data(), row_bytes, to.data() + 1);
    for (std::size_t row = 1; row < rows; ++row) {
        const char* const from = pixels.bytes.data() + row * row_bytes;
        std::transform(from, from + row_bytes, from - row_bytes,
                       to.data() + row * (row_bytes + 1) + 1, [](char own, char above) {
                           return static_cast<char>(static_cast<unsigned char>(own) -
                                                    static_cast<unsigned char>(above));
                       });
    }
    return to;
}

/// A zlib stream (RFC 1950).
std::string compressed(std::string_view bytes) {
    const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
        libdeflate_alloc_compressor(deflate_level));
    if (!compressor) throw std::bad_alloc();
    std::string to(libdeflate_zlib_compress_bound(compressor.get(), bytes.size()), '\0');
    to.resize(libdeflate_zlib_compress(compressor.get(), bytes.data(), bytes.size(), to.data(),
                                       to.size()));
    return to;
}

}  // namespace

std::string encode_png(const std::string& name, const PngPixels& pixels) {
    expects_size(name, static_cast<std::uint64_t>(pixels.width),
                 static_cast<std::uint64_t>(pixels.height));
    const std::size_t row_bytes = static_cast<std::size_t>(pixels.width) *
                                  static_cast<std::size_t>(pixels.channels * pixels.bits / 8);
    std::string file(png_signature);
    file += png_chunk(ihdr(pixels));
    const std::string data = compressed(filtered(pixels, row_bytes));
    for (std::size_t at = 0; at < data.size(); at += most_chunk_bytes) {
        file += png_chunk("IDAT" + data.substr(at, most_chunk_bytes));
    }
    file += png_chunk("IEND");
    return file;
}

std::string encode_png(const std::string& name, const Picture& picture) {
    if (!is_grey(picture)) {
        return encode_png(name, {picture.width, picture.height, 3, 8, bytes_of(picture)});
    }
    std::string levels(picture.pixels.size(), '\0');
    std::transform(picture.pixels.begin(), picture.pixels.end(), levels.begin(),
                   [](const Colour& pixel) { return static_cast<char>(pixel[0]); });
    return encode_png(name, {picture.width, picture.height, 1, 8, levels});
}

}  // namespace aperture::media
