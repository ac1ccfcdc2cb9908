// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <numbers>

#include "aperture/flow/estimator.hpp"
#include "tests/flow/fields.hpp"

namespace aperture::flow {

/// A smooth infinite image, defined between pixels as well: waves of 6 to 60 pixels in all
/// directions, longer ones stronger, with the contrast of a photograph.
class Scene {
  public:
    explicit Scene(unsigned seed = 1) {
        std::mt19937 generator(seed);
        std::uniform_real_distribution<double> uniform(0, 1);
        for (Wave& wave : waves_) {
            const double length = 6 * std::pow(10.0, uniform(generator));
            const double direction = 2 * std::numbers::pi * uniform(generator);
            const double frequency = 2 * std::numbers::pi / length;
            wave = {2 * std::sqrt(length), frequency * std::cos(direction),
                    frequency * std::sin(direction), 2 * std::numbers::pi * uniform(generator)};
        }
    }

    double operator()(double x, double y) const {
        double value = 128;
        for (const Wave& w : waves_) value += w.strength * std::sin(w.x * x + w.y * y + w.phase);
        return value;
    }

  private:
    struct Wave {
        double strength, x, y, phase;
    };
    std::array<Wave, 36> waves_;
};

/// Maps (x, y) to (xx x + xy y + dx, yx x + yy y + dy).
struct Motion {
    double xx = 1, xy = 0, dx = 0;
    double yx = 0, yy = 1, dy = 0;

    static Motion shift(double u, double v) { return {1, 0, u, 0, 1, v}; }
    /// Rotation by `angle` and zoom about the middle of the image.
    static Motion about_middle(Shape shape, double angle, double zoom) {
        const double x = static_cast<double>(shape.columns - 1) / 2;
        const double y = static_cast<double>(shape.rows - 1) / 2;
        const double c = zoom * std::cos(angle);
        const double s = zoom * std::sin(angle);
        return {c, -s, x - c * x + s * y, s, c, y - s * x - c * y};
    }
    Motion inverse() const {
        const double d = xx * yy - xy * yx;
        return {yy / d, -xy / d, (xy * dy - yy * dx) / d, -yx / d, xx / d, (yx * dx - xx * dy) / d};
    }
    std::array<double, 2> operator()(double x, double y) const {
        return {xx * x + xy * y + dx, yx * x + yy * y + dy};
    }
};

/// Two images of a moving scene, and the flow between them.
struct ImagePair {
    Image image0;
    Image image1;
    Flow truth;

    ImagePair(const Scene& scene, Shape shape, const Motion& motion)
        : image0(image_of(shape, [&](index_t y, index_t x) { return seen(scene, {}, y, x); })),
          image1(image_of(
              shape, [&](index_t y, index_t x) { return seen(scene, motion.inverse(), y, x); })),
          truth(flow_of(
              shape, [&](index_t y, index_t x) { return moved(motion, y, x)[0]; },
              [&](index_t y, index_t x) { return moved(motion, y, x)[1]; })) {}

  private:
    static double seen(const Scene& scene, const Motion& from, index_t y, index_t x) {
        const auto [at_x, at_y] = from(static_cast<double>(x), static_cast<double>(y));
        return scene(at_x, at_y);
    }
    static std::array<double, 2> moved(const Motion& motion, index_t y, index_t x) {
        const auto [to_x, to_y] = motion(static_cast<double>(x), static_cast<double>(y));
        return {to_x - static_cast<double>(x), to_y - static_cast<double>(y)};
    }
};

inline Flow estimated(const Image& image0, const Image& image1, const Parameters& parameters,
                      int threads = 1) {
    const Shape shape{image0.extent()[0], image0.extent()[1]};
    core::Cpu cpu(threads);
    Flow flow = constant_flow(shape, nan, nan);
    Estimator<core::Cpu>(cpu, shape, parameters).run(image0, image1, flow, false, nullptr);
    return flow;
}

/// Endpoint errors of pixels at least `border` pixels from the border, in ascending order.
inline std::vector<double> distances(const Flow& flow, const Flow& truth, index_t border) {
    std::vector<double> found;
    for (index_t y = border; y < flow.extent()[1] - border; ++y) {
        for (index_t x = border; x < flow.extent()[2] - border; ++x) {
            const double distance = std::hypot(static_cast<double>(flow(0, y, x)) - truth(0, y, x),
                                               static_cast<double>(flow(1, y, x)) - truth(1, y, x));
            found.push_back(std::isnan(distance) ? static_cast<double>(infinity) : distance);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}
inline double median_of(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }
inline double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

/// A combination of preset, method and share of texture.
struct Setup {
    Preset which;
    Method method;
    double texture;

    Parameters parameters() const {
        Parameters p = preset(which, method);
        p.texture = texture;
        return p;
    }
};
inline std::string name_of(const Setup& setup) {
    constexpr const char* names[] = {"thesis", "fast", "accurate"};
    return std::string(names[static_cast<int>(setup.which)]) +
           (setup.method == Method::horn_schunck ? "_hs" : "_lk") +
           (setup.texture > 0 ? "_texture" : "");
}
inline void PrintTo(const Setup& setup, std::ostream* stream) { *stream << name_of(setup); }

inline std::vector<Setup> all_setups() {
    std::vector<Setup> setups{{Preset::accurate, Method::horn_schunck, 0},
                              {Preset::accurate, Method::lucas_kanade, 0.95}};
    for (const Preset which : {Preset::fast, Preset::thesis}) {
        for (const Method method : {Method::horn_schunck, Method::lucas_kanade}) {
            for (const double texture : {0.0, 0.95}) setups.push_back({which, method, texture});
        }
    }
    return setups;
}

}  // namespace aperture::flow
