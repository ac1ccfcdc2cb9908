// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/camera_motion.hpp"

#include "librpca/cpu/frame_pixels.hpp"
#include "libsignal/bicubic_sample.hpp"

namespace aperture::rpca {
namespace {

using core::Cpu;
using signal::GlobalMotion;
using signal::PixelMap;

/// No place is before its horizon.
constexpr PixelMap nowhere{{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};

/// By the adjugate: the scale of a map does not matter, but its sign does.
PixelMap inverse(const PixelMap& map) {
    const auto& m = map.at;
    PixelMap result;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            result.at[i][j] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
        }
    }
    const double scale = result.at[2][2];
    for (auto& row : result.at) {
        for (double& element : row) element /= scale;
    }
    return result;
}

/// The map of (y + dy, x + dx).
PixelMap after_shift(PixelMap map, double dy, double dx) {
    for (auto& row : map.at) row[2] += row[0] * dy + row[1] * dx;
    return map;
}

template <class T>
T median_of(std::vector<T>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Whether a motion is one that a camera may have.
bool is_near(const GlobalMotion& motion, const core::Extents<2>& size, double usual_deviation) {
    const auto rows = static_cast<double>(size[0]);
    const auto columns = static_cast<double>(size[1]);
    bool near = motion.converged && motion.gain > 0.5 && motion.gain < 2 &&
                motion.deviation <= 5 * usual_deviation;
    for (const double y : {0.0, rows - 1}) {
        for (const double x : {0.0, columns - 1}) {
            const signal::Place to = signal::mapped(motion.map, y, x);
            near =
                near && std::abs(to.y - y) <= 0.25 * rows && std::abs(to.x - x) <= 0.25 * columns;
        }
    }
    return near;
}

}  // namespace

double usual_deviation(const std::vector<GlobalMotion>& motions) {
    std::vector<double> deviations;
    for (const GlobalMotion& motion : motions) {
        if (motion.converged) deviations.push_back(motion.deviation);
    }
    return deviations.empty() ? std::numeric_limits<double>::infinity() : median_of(deviations);
}

bool shakes(const std::vector<GlobalMotion>& shifts, double least) {
    std::vector<double> y, x;
    for (const GlobalMotion& shift : shifts) {
        if (!shift.converged) continue;
        y.push_back(shift.map.at[0][2]);
        x.push_back(shift.map.at[1][2]);
    }
    if (2 * y.size() < shifts.size()) return false;
    std::vector<double> sorted_y = y, sorted_x = x, distances(y.size());
    const double middle_y = median_of(sorted_y);
    const double middle_x = median_of(sorted_x);
    for (std::size_t i = 0; i < y.size(); ++i) {
        distances[i] = std::hypot(y[i] - middle_y, x[i] - middle_x);
    }
    const auto fifth = distances.begin() + static_cast<std::ptrdiff_t>(4 * y.size() / 5);
    std::nth_element(distances.begin(), fifth, distances.end());
    return *fifth >= least;
}

std::vector<PixelMap> maps_of(const std::vector<GlobalMotion>& motions) {
    std::vector<PixelMap> maps;
    for (const GlobalMotion& motion : motions) {
        maps.push_back(motion.converged ? motion.map : nowhere);
    }
    return maps;
}

CameraPath::CameraPath(core::Extents<2> size, const std::vector<GlobalMotion>& motions,
                       Stabilise how)
    : size_(size),
      deviation_(usual_deviation(motions)),
      maps_(motions.size(), nowhere),
      shifts_(motions.size()) {
    const double middle[2] = {static_cast<double>(size[0] - 1) / 2,
                              static_cast<double>(size[1] - 1) / 2};
    double squares = 0;
    for (std::size_t i = 0; i < motions.size(); ++i) {
        if (!is_near(motions[i], size, deviation_)) continue;
        maps_[i] = motions[i].map;
        const signal::Place to = signal::mapped(maps_[i], middle[0], middle[1]);
        const double dy = to.y - middle[0];
        const double dx = to.x - middle[1];
        shifts_[i] = {dy, dx};
        squares += dy * dy + dx * dx;
    }
    const auto found = static_cast<index_t>(maps_.size()) - lost();
    moves_ = found > 0 && (how != Stabilise::automatic || lost() <= found);
    if (!moves_) return;
    shake_ = std::sqrt(squares / static_cast<double>(found));
    frame_all();
}

void CameraPath::frame_all() {
    double first[2] = {0, 0};
    double last[2] = {static_cast<double>(size_[0] - 1), static_cast<double>(size_[1] - 1)};
    const double corners[2][2] = {{0, last[0]}, {0, last[1]}};
    for (std::size_t i = 0; i < maps_.size(); ++i) {
        if (!shifts_[i]) continue;
        const PixelMap back = inverse(maps_[i]);
        for (const double y : corners[0]) {
            for (const double x : corners[1]) {
                const signal::Place at = signal::mapped(back, y, x);
                first[0] = std::min(first[0], std::floor(at.y));
                first[1] = std::min(first[1], std::floor(at.x));
                last[0] = std::max(last[0], std::ceil(at.y));
                last[1] = std::max(last[1], std::ceil(at.x));
            }
        }
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const double margin = std::floor(0.25 * static_cast<double>(size_[i]));
        first[i] = std::max(first[i], -margin);
        last[i] = std::min(last[i], static_cast<double>(size_[i] - 1) + margin);
        extent_[i] = static_cast<index_t>(last[i] - first[i]) + 1;
    }
    origin_ = {first[0], first[1]};
    for (PixelMap& map : maps_) map = after_shift(map, origin_[0], origin_[1]);
}

std::optional<PixelMap> CameraPath::map_between(const GlobalMotion& motion,
                                                const CameraPath& other) const {
    if (!is_near(motion, size_, deviation_)) return std::nullopt;
    PixelMap map = after_shift(motion.map, origin_[0], origin_[1]);
    for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) map.at[i][j] -= other.origin_[i] * map.at[2][j];
    }
    return map;
}

index_t CameraPath::lost() const {
    return std::count(shifts_.begin(), shifts_.end(), std::nullopt);
}

std::vector<PixelMap> CameraPath::inverse_maps() const {
    std::vector<PixelMap> inverses(maps_.size(), nowhere);
    for (std::size_t i = 0; i < maps_.size(); ++i) {
        if (shifts_[i]) inverses[i] = inverse(maps_[i]);
    }
    return inverses;
}

template class CameraMotion<Cpu>;

}  // namespace aperture::rpca
