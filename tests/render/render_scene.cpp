// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Renders scenes whose truth is known, for data/ and for scripts; every machine writes the same
// bytes:
//   render_scene pair WIDTH HEIGHT SEED PREFIX          PREFIX1.pgm, PREFIX2.pgm, PREFIX.flo
//   render_scene clip WIDTH HEIGHT FRAMES SEED FOLDER   in the layout of changedetection.net
//   render_scene planes WIDTH HEIGHT SEED PREFIX        PREFIX1.h5, PREFIX2.h5
#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "aperture/core/array.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/result_file.hpp"
#include "apps/common/argument_fields.hpp"
#include "apps/common/program.hpp"
#include "tests/render/texture.hpp"

namespace aperture::render {
namespace {

struct Size {
    int width;
    int height;
};

/// A point or a displacement, in pixels to the right and down.
struct Point {
    double x;
    double y;
};

std::uint8_t grey_level(double value) {
    return static_cast<std::uint8_t>(std::floor(std::clamp(value, 0.0, 255.0) + 0.5));
}

using Level = std::function<std::uint8_t(int x, int y)>;

void write_pgm(const std::string& path, Size size, const Level& level) {
    std::string bytes = core::text("P5\n", size.width, ' ', size.height, "\n255\n");
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) bytes += static_cast<char>(level(x, y));
    }
    media::write_file(path, bytes);
}

/// Displacement of a point between the images of a pair: translation, rotation, divergence and
/// shear that grows towards the corners. Its mean over the picture is the translation.
Point motion_at(Size size, Point from) {
    const double scale = 2.0 / std::max(size.width, size.height);
    const double x = (from.x - 0.5 * (size.width - 1)) * scale;
    const double y = (from.y - 0.5 * (size.height - 1)) * scale;
    return {2.5 + 0.8 * x - y + 0.7 * x * y, -1.25 + x + 0.8 * y - 0.5 * x * y};
}

/// The point that moves to `to`.
Point origin_of(Size size, Point to) {
    // In pictures at least 100 pixels wide, motion changes by less than a tenth of a pixel per
    // pixel, so each step adds a correct digit.
    constexpr int steps = 20;
    Point from = to;
    for (int step = 0; step < steps; ++step) {
        const Point motion = motion_at(size, from);
        from = {to.x - motion.x, to.y - motion.y};
    }
    return from;
}

void render_pair(Size size, std::uint64_t seed, const std::string& prefix) {
    const auto level = [&](Point at) {
        return grey_level(255 * (1.6 * texture(seed, at.x, at.y) - 0.3));
    };
    write_pgm(prefix + "1.pgm", size, [&](int x, int y) { return level({double(x), double(y)}); });
    write_pgm(prefix + "2.pgm", size, [&](int x, int y) {
        return level(origin_of(size, {double(x), double(y)}));
    });
    core::Array<float, 3> flow({2, size.height, size.width});
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
            const Point motion = motion_at(size, {double(x), double(y)});
            flow(0, y, x) = static_cast<float>(motion.x);
            flow(1, y, x) = static_cast<float>(motion.y);
        }
    }
    media::write_flow(prefix + ".flo", flow.view());
}

/// A bright square that crosses the picture to the right, and a dark disc that crosses it to the
/// left.
class MovingObjects {
  public:
    MovingObjects(Size size, int frames, int frame)
        : side_(size.height / 4),
          left_((size.width + side_) * frame / frames - side_),
          top_(size.height / 6),
          radius_(size.height / 8),
          centre_x_(size.width - size.width * frame / frames),
          centre_y_(size.height * 3 / 4) {}

    bool in_square(int x, int y) const {
        return x >= left_ && x < left_ + side_ && y >= top_ && y < top_ + side_;
    }
    bool in_disc(int x, int y) const {
        const int dx = x - centre_x_;
        const int dy = y - centre_y_;
        return dx * dx + dy * dy <= radius_ * radius_;
    }
    int left() const { return left_; }

  private:
    int side_, left_, top_, radius_, centre_x_, centre_y_;
};

/// Approximately normal noise of variance 1.
double noise(std::uint64_t seed, int x, int y) {
    double sum = -6;
    for (std::uint64_t term = 0; term < 12; ++term) sum += random_at(seed + term, x, y);
    return sum;
}

void render_clip(Size size, int frames, std::uint64_t seed, const std::string& folder) {
    constexpr double noise_levels = 2;
    for (int frame = 0; frame < frames; ++frame) {
        const MovingObjects objects(size, frames, frame);
        const std::string digits = std::to_string(1'000'000 + frame + 1).substr(1);
        const std::uint64_t seed_of_noise = seed + 100 * (static_cast<std::uint64_t>(frame) + 1);
        write_pgm(core::text(folder, "/input/in", digits, ".pgm"), size, [&](int x, int y) {
            double level = 60 + 100 * texture(seed, x, y);
            if (objects.in_disc(x, y)) level = 20;
            if (objects.in_square(x, y))
                level = 190 + 60 * texture(seed + 3, x - objects.left(), y);
            return grey_level(level + noise_levels * noise(seed_of_noise, x, y));
        });
        write_pgm(core::text(folder, "/groundtruth/gt", digits, ".pgm"), size, [&](int x, int y) {
            return std::uint8_t(objects.in_square(x, y) || objects.in_disc(x, y) ? 255 : 0);
        });
    }
    media::write_file(folder + "/temporalROI.txt", core::text(frames / 4 + 1, ' ', frames, '\n'));
}

/// Writes two textures, and the same rotated by 1.8 degrees about the centre and shifted by 8
/// pixels to the right and 5 up.
void render_planes(Size size, std::uint64_t seed, const std::string& prefix) {
    constexpr Point shift{8, -5};
    constexpr double tangent_of_half = 1.0 / 64;
    constexpr double square = tangent_of_half * tangent_of_half;
    constexpr double cosine = (1 - square) / (1 + square);
    constexpr double sine = 2 * tangent_of_half / (1 + square);
    const Point centre{0.5 * (size.width - 1), 0.5 * (size.height - 1)};
    for (const bool moved : {false, true}) {
        core::Array<std::uint8_t, 3> planes({2, size.height, size.width});
        for (int plane = 0; plane < 2; ++plane) {
            for (int y = 0; y < size.height; ++y) {
                for (int x = 0; x < size.width; ++x) {
                    Point at{double(x), double(y)};
                    if (moved) {
                        const double dx = x - shift.x - centre.x;
                        const double dy = y - shift.y - centre.y;
                        at = {centre.x + cosine * dx + sine * dy,
                              centre.y - sine * dx + cosine * dy};
                    }
                    const auto seed_of_plane = seed + 10 * static_cast<std::uint64_t>(plane);
                    planes(plane, y, x) = grey_level(255 * texture(seed_of_plane, at.x, at.y));
                }
            }
        }
        media::ResultFile file(prefix + (moved ? "2.h5" : "1.h5"));
        file.write("/planes", planes.view(), {"plane", "row", "column"});
        file.commit();
    }
}

int whole_number(const std::string& name, const std::string& text, int most) {
    return static_cast<int>(apps::parse_whole_number(name, text, 1, most));
}

void render(const std::vector<std::string>& words) {
    const std::map<std::string, std::size_t> counts{{"pair", 5}, {"clip", 6}, {"planes", 5}};
    const auto count = words.empty() ? counts.end() : counts.find(words[0]);
    core::expects(count != counts.end() && count->second == words.size(),
                  "expected pair WIDTH HEIGHT SEED PREFIX, clip WIDTH HEIGHT FRAMES SEED FOLDER or "
                  "planes WIDTH HEIGHT SEED PREFIX");
    constexpr int max_extent = 1 << 14;
    const Size size{whole_number("WIDTH", words[1], max_extent),
                    whole_number("HEIGHT", words[2], max_extent)};
    const std::string& target = words.back();
    const auto seed = static_cast<std::uint64_t>(apps::parse_whole_number(
        "SEED", words[words.size() - 2], 0, std::numeric_limits<std::int32_t>::max()));
    if (words[0] == "pair") render_pair(size, seed, target);
    if (words[0] == "planes") render_planes(size, seed, target);
    if (words[0] == "clip") {
        constexpr int max_frames = 10'000;
        render_clip(size, whole_number("FRAMES", words[3], max_frames), seed, target);
    }
}

}  // namespace
}  // namespace aperture::render

int main(int argc, char** argv) {
    return aperture::apps::run_program("render_scene", [&] {
        aperture::render::render({argv + 1, argv + argc});
        return 0;
    });
}
