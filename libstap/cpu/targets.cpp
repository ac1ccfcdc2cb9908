// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/targets.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "aperture/stap/attempts.hpp"
#include "libstap/cpu/detection_filters.hpp"
#include "libstap/cpu/doppler_cube.hpp"
#include "libstap/cpu/target_position.hpp"
#include "libstap/doppler_taper.hpp"

namespace aperture::stap {
namespace {

using core::Host;
using Complex = std::complex<double>;
using cpu::DetectionFilters;
using cpu::Wave;

/// 6 dB: noise adds to a side lobe, and a wave lies somewhat beside its interpolated position.
/// README.md has what other margins do.
constexpr double margin = 2;

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
            const std::vector<Detection>& detections, const DetectionFilters& filters)
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
    const DetectionFilters& filters_;
    cpu::TargetPosition interpolate_;
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
    DetectionFilters filters(cpu, problem, steering, results, detections);
    core::Array<cfloat, 3> filtered;
    filters.compute(cpu::in_doppler_domain(cpu, problem, cube, filtered),
                    have_neighbours(problem, detections));
    return Merging(problem, steering, grid, results.statistic, detections, filters).run();
}

Findings find_targets(core::Cpu& cpu, const Problem& problem, double pfa,
                      core::View<const cfloat, 2, Host> steering, const DirectionGrid& grid,
                      CubeView<Host> cube, const Results<Host>& results) {
    Findings found;
    if (problem.parameters.detector == Detector::none) return found;
    found.detections = find_detections(problem, pfa, results.statistic, grid.row_length);
    const bool automatic = problem.parameters.precision == Precision::automatic;
    for (const Detection& d : found.detections) {
        const index_t set = training_set_of(problem, d.range_cell);
        found.loaded.push_back(automatic &&
                               results.attempt(d.doppler_bin, set) >= first_loaded_attempt);
    }
    if (!found.detections.empty()) {
        found.merged =
            merge_detections(cpu, problem, steering, grid, cube, results, found.detections);
    }
    return found;
}

}  // namespace aperture::stap
