// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/image_pairs.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <random>
#include <tuple>

#include "aperture/core/error.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::apps::tests {
namespace {

struct Wave {
    double across, down, phase;
};

std::vector<Wave> waves() {
    std::mt19937 generator(5);
    const auto uniform = [&] { return static_cast<double>(generator()) / 4294967296.0; };
    std::vector<Wave> list;
    for (int i = 0; i < 24; ++i) {
        const double direction = std::numbers::pi * uniform();
        const double wavelength = 7 + 25 * uniform();
        const double frequency = 2 * std::numbers::pi / wavelength;
        list.push_back({frequency * std::cos(direction), frequency * std::sin(direction),
                        2 * std::numbers::pi * uniform()});
    }
    return list;
}

/// The texture at (x, y), in [0, 1].
double texture(const std::vector<Wave>& list, double x, double y) {
    double sum = 0;
    for (const Wave& wave : list) {
        sum += std::cos(wave.across * x + wave.down * y + wave.phase);
    }
    return 0.5 + 0.5 * std::tanh(sum / 4);
}

void append_little_endian(std::string& bytes, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
}

std::string texture_bytes(const StoredPicture& stored, double x, double y) {
    const auto list = waves();
    const int white = stored.bits == 8 ? 255 : 65535;
    std::string bytes = core::text(stored.colour ? "P6 " : "P5 ", stored.width, ' ', stored.height,
                                   ' ', white, '\n');
    for (int row = 0; row < stored.height; ++row) {
        for (int column = 0; column < stored.width; ++column) {
            const double grey = texture(list, x + column, y + row);
            for (int channel = 0; channel < (stored.colour ? 3 : 1); ++channel) {
                const double brightness = 1 - 0.3 * channel;
                const auto value = static_cast<int>(std::lround(white * brightness * grey));
                if (stored.bits == 16) bytes += static_cast<char>(value >> 8);
                bytes += static_cast<char>(value & 0xff);
            }
        }
    }
    return bytes;
}

}  // namespace

void write_texture(const std::filesystem::path& path, const StoredPicture& stored, double x,
                   double y) {
    // Most tests write the same images.
    static std::map<std::tuple<int, int, bool, int, double, double>, std::string> known;
    std::string& bytes = known[{stored.width, stored.height, stored.colour, stored.bits, x, y}];
    if (bytes.empty()) bytes = texture_bytes(stored, x, y);
    media::tests::write_bytes(path, bytes);
}

void write_constant_flo(const std::filesystem::path& path, int width, int height, float u,
                        float v) {
    std::string bytes = "PIEH";
    append_little_endian(bytes, static_cast<std::uint32_t>(width));
    append_little_endian(bytes, static_cast<std::uint32_t>(height));
    for (int i = 0; i < width * height; ++i) {
        append_little_endian(bytes, std::bit_cast<std::uint32_t>(u));
        append_little_endian(bytes, std::bit_cast<std::uint32_t>(v));
    }
    media::tests::write_bytes(path, bytes);
}

}  // namespace aperture::apps::tests
