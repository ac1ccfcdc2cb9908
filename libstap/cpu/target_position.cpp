// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/cpu/target_position.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libstap/cpu/direction_rows.hpp"

namespace aperture::stap::cpu {

using core::Host;

/// The peak of a curve through the origin.
struct TargetPosition::Peak {
    double position = 0;
    double height = 0;
};

struct TargetPosition::Point {
    double x = std::numeric_limits<double>::quiet_NaN();
    double y = std::numeric_limits<double>::quiet_NaN();
};

/// The peak of the parabola through two points and the origin between them, at most half way to
/// either; the origin if there is none.
TargetPosition::Peak TargetPosition::peak_between(const Point& before, const Point& after) {
    if (!(before.x * after.x < 0)) return {};
    const double slope_before = before.y / before.x;
    const double curvature = (after.y / after.x - slope_before) / (after.x - before.x);
    const double slope = slope_before - curvature * before.x;
    if (!(curvature < 0) || !std::isfinite(slope) || !std::isfinite(curvature)) return {};
    const double x = std::clamp(-slope / (2 * curvature), std::min(before.x, after.x) / 2,
                                std::max(before.x, after.x) / 2);
    return {x, (slope + curvature * x) * x};
}

TargetPosition::TargetPosition(const Problem& problem, const DirectionGrid& grid,
                               core::View<const float, 3, Host> statistic)
    : problem_(problem),
      grid_(grid),
      row_length_(vectors_in_row(problem, grid.row_length)),
      statistic_(statistic) {}

EstimatedTarget TargetPosition::operator()(const Detection& detection) const {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    const index_t cell = detection.range_cell;
    const Peak range = peak_between(in_range(detection, cell - 1), in_range(detection, cell + 1));
    const Peak doppler = peak_between(in_doppler(detection, -1), in_doppler(detection, 1));
    const double bin = detection.doppler_bin + doppler.position;
    EstimatedTarget target{.strongest = detection,
                           .range_cell = static_cast<double>(cell) + range.position,
                           .doppler = std::remainder(bin / problem_.doppler_bins, 1.0),
                           .azimuth_degrees = unknown,
                           .elevation_degrees = unknown};
    double rise_db = range.height + doppler.height;
    if (!grid_.directions.empty()) {
        const Direction& at = direction(detection.steering_vector);
        const Peak azimuth = along(detection, &Direction::azimuth_degrees, 0, 1);
        const Peak elevation = along(detection, &Direction::elevation_degrees, 1, 0);
        target.azimuth_degrees = at.azimuth_degrees + azimuth.position;
        target.elevation_degrees = at.elevation_degrees + elevation.position;
        rise_db += azimuth.height + elevation.height;
    }
    target.statistic = detection.statistic * std::pow(10, rise_db / 10);
    return target;
}

const Direction& TargetPosition::direction(index_t d) const {
    return grid_.directions[static_cast<std::size_t>(d)];
}

/// The statistic of another cell in dB relative to the detection's; NaN if either has none.
double TargetPosition::relative_db(const Detection& detection, index_t d, index_t k,
                                   index_t r) const {
    const double ratio =
        statistic_(d, k, r) /
        double(statistic_(detection.steering_vector, detection.doppler_bin, detection.range_cell));
    return ratio > 0 ? 10 * std::log10(ratio) : std::numeric_limits<double>::quiet_NaN();
}

TargetPosition::Point TargetPosition::in_range(const Detection& of, index_t cell) const {
    if (cell < 0 || cell >= problem_.shape.range_cells) return {};
    return {static_cast<double>(cell - of.range_cell),
            relative_db(of, of.steering_vector, of.doppler_bin, cell)};
}

TargetPosition::Point TargetPosition::in_doppler(const Detection& of, int step) const {
    const int bins = problem_.doppler_bins;
    if (bins < 3) return {};
    const int bin = (of.doppler_bin + step + bins) % bins;
    return {double(step), relative_db(of, of.steering_vector, bin, of.range_cell)};
}

/// The peak over `angle`, which the neighbours so many rows and columns away differ in.
TargetPosition::Peak TargetPosition::along(const Detection& of, double Direction::*angle, int rows,
                                           int columns) const {
    const auto neighbour = [&](int sign) {
        const index_t d = neighbour_in_rows(problem_.steering_vectors, row_length_,
                                            of.steering_vector, sign * rows, sign * columns);
        if (d < 0) return Point{};
        return Point{direction(d).*angle - direction(of.steering_vector).*angle,
                     relative_db(of, d, of.doppler_bin, of.range_cell)};
    };
    return peak_between(neighbour(-1), neighbour(1));
}

}  // namespace aperture::stap::cpu
