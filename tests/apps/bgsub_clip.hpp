// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

/// Clips with a known mask, and bgsub run on them.
namespace aperture::apps::tests {

using aperture::tests::TemporaryFolder;
using media::tests::read_bytes;
using media::tests::write_bytes;
using std::filesystem::path;

/// A square that moves over a static background.
struct Scene {
    int width = 97;
    int height = 73;
    int side = 20;     ///< of the square; 0: no square
    int step = 4;      ///< of the motion, pixels per frame
    double shake = 0;  ///< of the camera, in pixels
    int stops = 0;     ///< the frame from which it stands still,
    int goes = 0;      ///< until this one

    int left(int frame) const {
        return step * (std::min(frame, stops) + std::max(frame - goes, 0));
    }
    int top() const { return height / 3; }
    bool moving(int frame, int x, int y) const {
        return x >= left(frame) && x < left(frame) + side && y >= top() && y < top() + side;
    }
    /// Waves of 7 to 70 pixels in all directions, so that it is known between pixels.
    double shaken(int frame, int x, int y) const {
        const double u = x - shake * std::sin(2.7 * frame);
        const double v = y - shake * std::cos(4.1 * frame);
        double value = 110;
        for (int i = 0; i < 12; ++i) {
            const double k = 0.9 * std::pow(0.82, i);
            value += 9 * std::sin(k * (v * std::sin(2.4 * i) + u * std::cos(2.4 * i)) + 1.7 * i);
        }
        return value;
    }
    std::uint8_t level(int frame, int x, int y) const {
        if (shake > 0 && !moving(frame, x, y)) {
            return static_cast<std::uint8_t>(std::lround(shaken(frame, x, y)));
        }
        return static_cast<std::uint8_t>(moving(frame, x, y) ? 230 : 40 + (3 * x + 5 * y) % 80);
    }
};

inline std::string numbered(const char* begin, int number, const char* end) {
    std::ostringstream name;
    name << begin << std::setw(6) << std::setfill('0') << number << end;
    return name.str();
}

inline std::string pgm(const Scene& scene, int frame) {
    std::string bytes =
        "P5 " + std::to_string(scene.width) + ' ' + std::to_string(scene.height) + " 255\n";
    for (int y = 0; y < scene.height; ++y) {
        for (int x = 0; x < scene.width; ++x) {
            bytes += static_cast<char>(scene.level(frame, x, y));
        }
    }
    return bytes;
}

inline std::vector<std::uint8_t> masks_in(const path& npy, const std::string& shape) {
    const std::string bytes = read_bytes(npy);
    EXPECT_THAT(bytes, testing::HasSubstr("'shape': (" + shape + ",), }"));
    const std::size_t begin = bytes.find('\n') + 1;
    return {bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end()};
}

inline std::vector<float> floats_in(const path& npy) {
    const std::string bytes = read_bytes(npy);
    const std::size_t begin = bytes.find('\n') + 1;
    std::vector<float> values((bytes.size() - begin) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
    return values;
}

/// F-measure of masks [frame][row][column] against the scene's masks, for frames `step` apart.
inline double f_measure(const std::vector<std::uint8_t>& masks, const Scene& scene, int frames) {
    double hits = 0;
    double wrong = 0;
    auto mask = masks.begin();
    for (int frame = 0; frame < frames; ++frame) {
        for (int y = 0; y < scene.height; ++y) {
            for (int x = 0; x < scene.width; ++x, ++mask) {
                const bool found = *mask == 255;
                if (found != scene.moving(frame, x, y)) ++wrong;
                if (found && scene.moving(frame, x, y)) ++hits;
            }
        }
    }
    return 2 * hits / (2 * hits + wrong);
}

class Bgsub : public testing::Test {
  protected:
    void write_frames(const Scene& scene, int count, int first = 0) {
        std::filesystem::create_directories(folder_ / "clip/input");
        for (int i = 0; i < count; ++i) {
            write_bytes(frame(first + i), pgm(scene, first + i));
        }
    }
    path frame(int i) const { return folder_ / numbered("clip/input/in", i + 1, ".pgm"); }
    path clip() const { return folder_ / "clip"; }
    Outcome run(const std::vector<std::string>& arguments,
                const Surroundings& surroundings = {}) const {
        return run_program("bgsub", joined(arguments, {"--device", "cpu"}), surroundings);
    }
    nlohmann::json report() const { return read_json(folder_ / "r.json"); }
    Outcome run_to_arrays(const std::vector<std::string>& arguments) const {
        return run(joined(arguments, {"--out-format", "npy", "--save", "background,foreground,mask",
                                      "--report", folder_ / "r.json"}));
    }
    TemporaryFolder folder_;
};

}  // namespace aperture::apps::tests
