// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/targets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <utility>

#include "aperture/stap/attempts.hpp"
#include "libstap/cpu/cell_covariance.hpp"
#include "libstap/cpu/direction_rows.hpp"
#include "libstap/cpu/doppler_cube.hpp"
#include "libstap/cpu/snapshots.hpp"
#include "libstap/doppler_taper.hpp"

namespace aperture::stap {
namespace {

using core::Host;
using Complex = std::complex<double>;

/// 6 dB: noise adds to a side lobe, and a wave lies somewhat beside its interpolated position.
/// README.md has what other margins do.
constexpr double margin = 2;

/// The peak of a curve through the origin.
struct Peak {
    double position = 0;
    double height = 0;
};

struct Point {
    double x = std::numeric_limits<double>::quiet_NaN();
    double y = std::numeric_limits<double>::quiet_NaN();
};

/// The peak of the parabola through two points and the origin between them, at most half way to
/// either; the origin if there is none.
Peak peak_between(const Point& before, const Point& after) {
    if (!(before.x * after.x < 0)) return {};
    const double slope_before = before.y / before.x;
    const double curvature = (after.y / after.x - slope_before) / (after.x - before.x);
    const double slope = slope_before - curvature * before.x;
    if (!(curvature < 0) || !std::isfinite(slope) || !std::isfinite(curvature)) return {};
    const double x = std::clamp(-slope / (2 * curvature), std::min(before.x, after.x) / 2,
                                std::max(before.x, after.x) / 2);
    return {x, (slope + curvature * x) * x};
}

/// Interpolates positions of detections.
class Interpolation {
  public:
    Interpolation(const Problem& problem, const DirectionGrid& grid,
                  core::View<const float, 3, Host> statistic)
        : problem_(problem),
          grid_(grid),
          row_length_(vectors_in_row(problem, grid.row_length)),
          statistic_(statistic) {}

    EstimatedTarget operator()(const Detection& detection) const {
        constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
        const index_t cell = detection.range_cell;
        const Peak range =
            peak_between(in_range(detection, cell - 1), in_range(detection, cell + 1));
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

  private:
    const Direction& direction(index_t d) const {
        return grid_.directions[static_cast<std::size_t>(d)];
    }

    /// The statistic of another cell in dB relative to the detection's; NaN if either has none.
    double relative_db(const Detection& detection, index_t d, index_t k, index_t r) const {
        const double ratio =
            statistic_(d, k, r) / double(statistic_(detection.steering_vector,
                                                    detection.doppler_bin, detection.range_cell));
        return ratio > 0 ? 10 * std::log10(ratio) : std::numeric_limits<double>::quiet_NaN();
    }

    Point in_range(const Detection& of, index_t cell) const {
        if (cell < 0 || cell >= problem_.shape.range_cells) return {};
        return {static_cast<double>(cell - of.range_cell),
                relative_db(of, of.steering_vector, of.doppler_bin, cell)};
    }

    Point in_doppler(const Detection& of, int step) const {
        const int bins = problem_.doppler_bins;
        if (bins < 3) return {};
        const int bin = (of.doppler_bin + step + bins) % bins;
        return {double(step), relative_db(of, of.steering_vector, bin, of.range_cell)};
    }

    /// The peak over `angle`, which the neighbours so many rows and columns away differ in.
    Peak along(const Detection& of, double Direction::*angle, int rows, int columns) const {
        const auto neighbour = [&](int sign) {
            const index_t d = neighbour_in_rows(problem_.steering_vectors, row_length_,
                                                of.steering_vector, sign * rows, sign * columns);
            if (d < 0) return Point{};
            return Point{direction(d).*angle - direction(of.steering_vector).*angle,
                         relative_db(of, d, of.doppler_bin, of.range_cell)};
        };
        return peak_between(neighbour(-1), neighbour(1));
    }

    const Problem& problem_;
    const DirectionGrid& grid_;
    int row_length_;
    core::View<const float, 3, Host> statistic_;
};

/// D(delta) = sum_p taper[p] exp(j 2 pi delta p) at the distances of a wave from all Doppler bins.
class DopplerResponse {
  public:
    explicit DopplerResponse(const Problem& problem) : bins_(problem.doppler_bins) {
        if (problem.shape.domain == Domain::pulse) {
            for (const float weight : pulse_weights(problem)) taper_.push_back(weight);
        } else {
            taper_.assign(static_cast<std::size_t>(bins_), 1.0);
        }
        for (std::size_t i = 0; i < bins_; ++i)
            turns_.push_back(std::polar(
                1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(bins_)));
    }

    /// D(doppler - k / K) for all k.
    std::vector<Complex> operator()(double doppler) const {
        std::vector<Complex> wave;
        for (const double weight : taper_)
            wave.push_back(std::polar(
                weight, 2 * std::numbers::pi * doppler * static_cast<double>(wave.size())));
        std::vector<Complex> response;
        for (std::size_t k = 0; k < bins_; ++k) {
            Complex sum = 0;
            std::size_t turn = 0;
            for (const Complex& sample : wave) {
                sum += sample * turns_[turn];
                turn += k;
                if (turn >= bins_) turn -= bins_;
            }
            response.push_back(sum);
        }
        return response;
    }

  private:
    std::size_t bins_;
    std::vector<double> taper_;
    std::vector<Complex> turns_;  ///< exp(-j 2 pi i / K)
};

/// A target's wave as the snapshots see it: response over channels and over Doppler bins, 1 in the
/// bin of its strongest detection.
struct Wave {
    std::vector<Complex> space;
    std::vector<Complex> doppler;
};

/// The filters w / |w^H v| of detections, [detection][n], w = R^-1 v without the cell under test in
/// R. Zero for a detection without a covariance, and where `wanted` is false.
class Filters {
  public:
    Filters(core::Cpu& cpu, const Problem& problem, core::View<const cfloat, 2, Host> steering,
            const Results<Host>& results, const std::vector<Detection>& detections)
        : cpu_(cpu),
          problem_(problem),
          steering_(steering),
          results_(results),
          detections_(detections),
          filters_({static_cast<index_t>(detections.size()), problem.order}) {
        std::fill(filters_.begin(), filters_.end(), Complex(0));
    }

    /// `cube` is in the Doppler domain, and outlives the filters.
    void compute(CubeView<Host> cube, const std::vector<bool>& wanted) {
        cube_ = cube;
        std::vector<std::vector<std::size_t>> groups = groups_of(wanted);
        const auto chunk =
            static_cast<std::size_t>(cpu::places_at_a_time(problem_, vectors_of_group));
        cpu::CellSystems systems;
        for (std::size_t first = 0; first < groups.size(); first += chunk) {
            const std::size_t count = std::min(chunk, groups.size() - first);
            solve({groups.data() + first, count}, systems);
        }
    }

    /// |w^H x| / |w^H v| of detection i in a range cell.
    double output(std::size_t i, index_t range_cell) const {
        const Complex* filter = &filters_(static_cast<index_t>(i), 0);
        Complex sum = 0;
        for (index_t row = 0; row < problem_.order; ++row) {
            const cfloat* x = cpu::snapshot_row(problem_, cube_, detections_[i].doppler_bin, row);
            sum += std::conj(filter[row]) * Complex(x[range_cell]);
        }
        return std::abs(sum);
    }

    /// |w^H s| / |w^H v| of detection i for the wave.
    double gain(std::size_t i, const Wave& wave) const {
        const index_t taps = problem_.parameters.temporal_taps;
        const index_t bins = problem_.doppler_bins;
        const index_t first_bin = detections_[i].doppler_bin - (taps - 1) / 2 + bins;
        const Complex* filter = &filters_(static_cast<index_t>(i), 0);
        Complex sum = 0;
        for (index_t c = 0; c < problem_.shape.channels; ++c) {
            Complex of_channel = 0;
            for (index_t t = 0; t < taps; ++t)
                of_channel += std::conj(filter[c * taps + t]) *
                              wave.doppler[static_cast<std::size_t>((first_bin + t) % bins)];
            sum += of_channel * wave.space[static_cast<std::size_t>(c)];
        }
        return std::abs(sum);
    }

  private:
    /// Bounds the padding of groups to one number of vectors.
    static constexpr index_t vectors_of_group = 16;

    /// The wanted detections in groups of one covariance, of at most vectors_of_group.
    std::vector<std::vector<std::size_t>> groups_of(const std::vector<bool>& wanted) const {
        const auto place = [&](std::size_t i) {
            return std::pair(detections_[i].doppler_bin, detections_[i].range_cell);
        };
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (wanted[i]) order.push_back(i);
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(place(a), a) < std::pair(place(b), b);
        });
        std::vector<std::vector<std::size_t>> groups;
        for (const std::size_t i : order) {
            const bool starts = groups.empty() || place(groups.back().front()) != place(i) ||
                                groups.back().size() == vectors_of_group;
            if (starts) groups.emplace_back();
            groups.back().push_back(i);
        }
        return groups;
    }

    void solve(std::span<const std::vector<std::size_t>> groups, cpu::CellSystems& systems) {
        std::vector<cpu::Place> places;
        systems.vectors.reshape(
            {static_cast<index_t>(groups.size()), vectors_of_group, problem_.order});
        std::fill(systems.vectors.begin(), systems.vectors.end(), Complex(0));
        for (const std::vector<std::size_t>& group : groups) {
            const Detection& any = detections_[group.front()];
            places.push_back({any.doppler_bin, any.range_cell, loading_of_run(any), true});
            for_vectors(groups, systems, places.size() - 1, [&](std::size_t i, Complex* v) {
                for (index_t j = 0; j < problem_.order; ++j)
                    v[j] = Complex(steering_(detections_[i].steering_vector, j));
            });
        }
        cpu::solve_cells(cpu_, problem_, cube_, places, systems);
        for (std::size_t g = 0; g < groups.size(); ++g)
            for_vectors(groups, systems, g, [&](std::size_t i, const Complex* w) { store(i, w); });
    }

    /// Calls work(detection, its vector) for a group.
    template <class Work>
    static void for_vectors(std::span<const std::vector<std::size_t>> groups,
                            cpu::CellSystems& systems, std::size_t g, const Work& work) {
        index_t slot = 0;
        for (const std::size_t i : groups[g])
            work(i, &systems.vectors(static_cast<index_t>(g), slot++, 0));
    }

    double loading_of_run(const Detection& detection) const {
        if (problem_.parameters.precision != Precision::automatic) return 0;
        return automatic_loading(results_.attempt(detection.doppler_bin,
                                                  training_set_of(problem_, detection.range_cell)));
    }

    void store(std::size_t i, const Complex* w) {
        Complex gain = 0;
        for (index_t j = 0; j < problem_.order; ++j)
            gain += std::conj(w[j]) * Complex(steering_(detections_[i].steering_vector, j));
        if (!(std::abs(gain) > 0)) return;
        for (index_t j = 0; j < problem_.order; ++j)
            filters_(static_cast<index_t>(i), j) = w[j] / std::abs(gain);
    }

    core::Cpu& cpu_;
    const Problem& problem_;
    core::View<const cfloat, 2, Host> steering_;
    const Results<Host>& results_;
    const std::vector<Detection>& detections_;
    core::Array<Complex, 2> filters_;
    CubeView<Host> cube_;
};

void check_detections(const Problem& problem, const std::vector<Detection>& detections) {
    const auto inside = [](index_t i, index_t extent) { return i >= 0 && i < extent; };
    for (std::size_t i = 0; i < detections.size(); ++i) {
        const Detection& d = detections[i];
        core::expects(inside(d.steering_vector, problem.steering_vectors) &&
                          inside(d.doppler_bin, problem.doppler_bins) &&
                          inside(d.range_cell, problem.shape.range_cells),
                      "detection of vector ", d.steering_vector, ", Doppler bin ", d.doppler_bin,
                      ", range cell ", d.range_cell, " is outside of the problem");
        core::expects(i == 0 || detections[i - 1].statistic >= d.statistic,
                      "detections are not in the order of their statistic");
    }
}

void check_arguments(const Problem& problem, core::View<const cfloat, 2, Host> steering,
                     const DirectionGrid& grid, const Results<Host>& results) {
    core::expects(problem.parameters.detector != Detector::none,
                  "targets require a problem with a detector");
    core::expects_shape("steering", steering, {problem.steering_vectors, problem.order});
    check_map("statistic", problem, results.statistic);
    if (problem.parameters.precision == Precision::automatic)
        core::expects_shape("attempt", results.attempt,
                            {problem.doppler_bins, problem.training_sets});
    if (grid.directions.empty()) return;
    core::expects(static_cast<index_t>(grid.directions.size()) == problem.steering_vectors,
                  grid.directions.size(), " directions for ", problem.steering_vectors,
                  " steering vectors");
    core::expects(static_cast<index_t>(grid.elements.size()) == problem.shape.channels,
                  grid.elements.size(), " elements for ", problem.shape.channels, " channels");
}

/// Assigns detections to targets, from the strongest on.
class Merging {
  public:
    Merging(const Problem& problem, core::View<const cfloat, 2, Host> steering,
            const DirectionGrid& grid, core::View<const float, 3, Host> statistic,
            const std::vector<Detection>& detections, const Filters& filters)
        : problem_(problem),
          steering_(steering),
          grid_(grid),
          detections_(detections),
          filters_(filters),
          interpolate_(problem, grid, statistic),
          doppler_response_(problem),
          targets_at_(static_cast<std::size_t>(problem.shape.range_cells)) {}

    MergedDetections run() {
        for (std::size_t i = 0; i < detections_.size(); ++i) {
            int target = target_that_explains(i);
            if (target < 0) {
                target = static_cast<int>(merged_.targets.size());
                merged_.targets.push_back(interpolate_(detections_[i]));
                targets_at_[static_cast<std::size_t>(detections_[i].range_cell)].push_back(target);
                waves_.emplace_back();
                strongest_.push_back(i);
            }
            ++merged_.targets[static_cast<std::size_t>(target)].detections;
            merged_.target_of.push_back(target);
        }
        return std::move(merged_);
    }

  private:
    /// The target of which the detection's filter shows most, or -1 if none explains it.
    int target_that_explains(std::size_t i) {
        const Detection& b = detections_[i];
        const index_t first = std::max<index_t>(b.range_cell - 1, 0);
        const index_t last = std::min(b.range_cell + 1, problem_.shape.range_cells - 1);
        double most = 0;
        int found = -1;
        for (index_t cell = first; cell <= last; ++cell)
            for (const int target : targets_at_[static_cast<std::size_t>(cell)]) {
                const double shown =
                    filters_.output(strongest_[static_cast<std::size_t>(target)], b.range_cell) *
                    filters_.gain(i, wave(target));
                if (!(shown > most) || !std::isfinite(shown)) continue;
                most = shown;
                found = target;
            }
        return filters_.output(i, b.range_cell) <= margin * most ? found : -1;
    }

    const Wave& wave(int of_target) {
        Wave& wave = waves_[static_cast<std::size_t>(of_target)];
        if (!wave.space.empty()) return wave;
        const EstimatedTarget& target = merged_.targets[static_cast<std::size_t>(of_target)];
        wave.doppler = doppler_response_(target.doppler);
        const Complex middle = wave.doppler[static_cast<std::size_t>(target.strongest.doppler_bin)];
        for (Complex& response : wave.doppler) response /= middle;
        if (!grid_.directions.empty()) {
            wave.space = spatial_steering(grid_.elements,
                                          {target.azimuth_degrees, target.elevation_degrees});
            return wave;
        }
        const index_t taps = problem_.parameters.temporal_taps;
        for (index_t c = 0; c < problem_.shape.channels; ++c)
            wave.space.emplace_back(
                steering_(target.strongest.steering_vector, c * taps + (taps - 1) / 2));
        return wave;
    }

    const Problem& problem_;
    core::View<const cfloat, 2, Host> steering_;
    const DirectionGrid& grid_;
    const std::vector<Detection>& detections_;
    const Filters& filters_;
    Interpolation interpolate_;
    DopplerResponse doppler_response_;
    std::vector<std::vector<int>> targets_at_;  ///< by range cell
    std::vector<Wave> waves_;                   ///< of targets; computed when first needed
    std::vector<std::size_t> strongest_;        ///< detections of targets
    MergedDetections merged_;
};

/// Detections with another one at most one range cell away. Only these can be merged.
std::vector<bool> have_neighbours(const Problem& problem,
                                  const std::vector<Detection>& detections) {
    std::vector<int> in_cell(static_cast<std::size_t>(problem.shape.range_cells) + 2, 0);
    for (const Detection& d : detections) ++in_cell[static_cast<std::size_t>(d.range_cell) + 1];
    std::vector<bool> have;
    for (const Detection& d : detections) {
        const auto cell = static_cast<std::size_t>(d.range_cell) + 1;
        have.push_back(in_cell[cell - 1] + in_cell[cell] + in_cell[cell + 1] > 1);
    }
    return have;
}

}  // namespace

MergedDetections merge_detections(core::Cpu& cpu, const Problem& problem,
                                  core::View<const cfloat, 2, Host> steering,
                                  const DirectionGrid& grid, CubeView<Host> cube,
                                  const Results<Host>& results,
                                  const std::vector<Detection>& detections) {
    check_arguments(problem, steering, grid, results);
    check_detections(problem, detections);
    Filters filters(cpu, problem, steering, results, detections);
    core::Array<cfloat, 3> filtered;
    filters.compute(cpu::in_doppler_domain(cpu, problem, cube, filtered),
                    have_neighbours(problem, detections));
    return Merging(problem, steering, grid, results.statistic, detections, filters).run();
}

}  // namespace aperture::stap
