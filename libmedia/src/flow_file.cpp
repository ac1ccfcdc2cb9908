// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/flow_file.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "aperture/core/error.hpp"
#include "libmedia/src/byte_order.hpp"
#include "libmedia/src/image_structure.hpp"
#include "libmedia/src/input_file.hpp"
#include "libmedia/src/output_mark.hpp"
#include "libmedia/src/png_encoder.hpp"
#include "libmedia/src/stored_image.hpp"

namespace aperture::media {
namespace {

namespace fs = std::filesystem;
using core::Array;
using core::Host;
using core::index_t;
using core::View;

static_assert(std::endian::native == std::endian::little, ".flo values are copied as they are");

constexpr std::string_view flo_magic = "PIEH";  // 202021.25 as a little-endian float
constexpr std::size_t flo_header = 12;
constexpr std::size_t flo_pixel = 8;

constexpr float kitti_scale = 64;
constexpr float kitti_zero = 32768;

Array<float, 3> decode_flo(const std::string& name, std::string_view bytes) {
    core::expects(bytes.size() >= flo_header, name, ": truncated .flo: ", bytes.size(),
                  " bytes, but the header has ", flo_header);
    const auto width = static_cast<std::int32_t>(little_endian(bytes, 4, 4));
    const auto height = static_cast<std::int32_t>(little_endian(bytes, 8, 4));
    core::expects(width > 0 && height > 0, name, ": .flo of ", width, 'x', height, " pixels");
    const std::uint64_t pixels =
        static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
    const std::uint64_t room = (bytes.size() - flo_header) / flo_pixel;
    core::expects(pixels <= room, name, ": truncated .flo: ", width, 'x', height,
                  " pixels do not fit into ", bytes.size(), " bytes");
    core::expects(flo_header + flo_pixel * pixels == bytes.size(), name,
                  ": damaged .flo: ", bytes.size(), " bytes are too many for ", width, 'x', height,
                  " pixels");
    Array<float, 3> flow({2, height, width});
    const char* from = bytes.data() + flo_header;
    for (index_t row = 0; row < height; ++row) {
        for (index_t column = 0; column < width; ++column, from += flo_pixel) {
            std::memcpy(&flow(0, row, column), from, sizeof(float));
            std::memcpy(&flow(1, row, column), from + sizeof(float), sizeof(float));
        }
    }
    return flow;
}

std::string encode_flo(const View<const float, 3, Host>& flow) {
    const auto [planes, rows, columns] = flow.extent;
    const std::array<std::int32_t, 2> size = {static_cast<std::int32_t>(columns),
                                              static_cast<std::int32_t>(rows)};
    std::string bytes(flo_header + flo_pixel * static_cast<std::size_t>(rows * columns), '\0');
    std::memcpy(bytes.data(), flo_magic.data(), flo_magic.size());
    std::memcpy(bytes.data() + flo_magic.size(), size.data(), sizeof(size));
    char* to = bytes.data() + flo_header;
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column, to += flo_pixel) {
            std::memcpy(to, &flow(0, row, column), sizeof(float));
            std::memcpy(to + sizeof(float), &flow(1, row, column), sizeof(float));
        }
    }
    return bytes;
}

#if APERTURE_OPENCV

Array<float, 3> decode_kitti(const std::string& name, const std::string& bytes) {
    StoredImage image;
    decode_image(name, bytes, image);
    core::expects(image.channels == 3 && image.bits() == 16, name, ": an image of ", image.bits(),
                  " bits, ", image.channels == 3 ? "colour" : "grey",
                  "; KITTI flow requires 16 bits, colour");
    Array<float, 3> flow({2, image.height, image.width});
    const std::uint16_t* in = std::get<std::vector<std::uint16_t>>(image.samples).data();
    for (index_t row = 0; row < image.height; ++row) {
        for (index_t column = 0; column < image.width; ++column, in += 3) {
            const bool valid = in[2] != 0;
            for (index_t c = 0; c < 2; ++c) {
                flow(c, row, column) = valid ? (in[c] - kitti_zero) / kitti_scale : unknown_flow;
            }
        }
    }
    return flow;
}

std::string encode_kitti(const fs::path& path, const View<const float, 3, Host>& flow) {
    constexpr float largest = std::numeric_limits<std::uint16_t>::max();
    const auto [planes, rows, columns] = flow.extent;
    std::string samples;
    samples.reserve(static_cast<std::size_t>(rows * columns * 6));
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            const float red = std::round(flow(0, row, column) * kitti_scale + kitti_zero);
            const float green = std::round(flow(1, row, column) * kitti_scale + kitti_zero);
            // False for NaN as well.
            const bool known = red >= 0 && red <= largest && green >= 0 && green <= largest;
            samples += big_endian_bytes(known ? static_cast<std::uint32_t>(red) << 16 |
                                                    static_cast<std::uint32_t>(green)
                                              : 0);
            samples += {'\0', known ? '\1' : '\0'};
        }
    }
    return with_mark(
        encode_png(core::text(path.string(), ": cannot write"),
                   {static_cast<int>(columns), static_cast<int>(rows), 3, 16, samples}));
}

#else

Array<float, 3> decode_kitti(const std::string& name, const std::string&) {
    throw core::InvalidArgument(
        core::text(name, ": KITTI flow (.png) requires a build with OpenCV; .flo does not"));
}

std::string encode_kitti(const fs::path& path, const View<const float, 3, Host>&) {
    throw core::InvalidArgument(core::text(
        path.string(),
        ": cannot write: KITTI flow (.png) requires a build with OpenCV; .flo does not"));
}

#endif

}  // namespace

Array<float, 3> read_flow(const fs::path& path) {
    const std::string name = path.string();
    const std::string bytes = read_whole(path);
    if (bytes.starts_with(flo_magic)) return decode_flo(name, bytes);
    if (is_png(bytes)) return decode_kitti(name, bytes);
    core::expects(!bytes.empty(), name, ": file is empty");
    core::expects(path.extension() != ".flo", name, ": not a .flo file, which must start with '",
                  flo_magic, "'");
    throw core::InvalidArgument(
        core::text(name, ": not a flow file, expected Middlebury .flo or KITTI .png"));
}

AtomicFile new_flow(const fs::path& path, View<const float, 3, Host> flow) {
    const auto [planes, rows, columns] = flow.extent;
    constexpr index_t most = std::numeric_limits<std::int32_t>::max();
    core::expects(planes == 2 && rows > 0 && columns > 0 && rows <= most && columns <= most,
                  path.string(), ": cannot write: flow of ", planes, " planes of ", columns, 'x',
                  rows, " pixels");
    const std::string extension = path.extension().string();
    core::expects(extension == ".flo" || extension == ".png", path.string(),
                  ": cannot write: expected .flo (Middlebury) or .png (KITTI)");
    return new_file(path, extension == ".flo" ? encode_flo(flow) : encode_kitti(path, flow));
}

void write_flow(const fs::path& path, View<const float, 3, Host> flow) {
    new_flow(path, flow).commit();
}

}  // namespace aperture::media
