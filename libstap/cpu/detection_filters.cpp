// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/cpu/detection_filters.hpp"

#include <algorithm>
#include <utility>

#include "aperture/stap/attempts.hpp"
#include "libstap/cpu/cell_covariance.hpp"
#include "libstap/cpu/snapshots.hpp"

namespace aperture::stap::cpu {
namespace {

using core::Host;

/// Bounds the padding of groups to one number of vectors.
constexpr index_t vectors_of_group = 16;

/// Calls work(detection, its vector) for a group of systems.
template <class Work>
void for_vectors(std::span<const std::vector<std::size_t>> groups, CellSystems& systems,
                 std::size_t g, const Work& work) {
    index_t slot = 0;
    for (const std::size_t i : groups[g])
        work(i, &systems.vectors(static_cast<index_t>(g), slot++, 0));
}

}  // namespace

DetectionFilters::DetectionFilters(core::Cpu& cpu, const Problem& problem,
                                   core::View<const cfloat, 2, Host> steering,
                                   const Results<Host>& results,
                                   const std::vector<Detection>& detections)
    : cpu_(cpu),
      problem_(problem),
      steering_(steering),
      results_(results),
      detections_(detections),
      filters_({static_cast<index_t>(detections.size()), problem.order}) {
    std::fill(filters_.begin(), filters_.end(), Complex(0));
}

void DetectionFilters::compute(CubeView<Host> cube, const std::vector<bool>& wanted) {
    cube_ = cube;
    std::vector<Group> groups = groups_of(wanted);
    const auto chunk = static_cast<std::size_t>(places_at_a_time(problem_, vectors_of_group));
    CellSystems systems;
    for (std::size_t first = 0; first < groups.size(); first += chunk) {
        const std::size_t count = std::min(chunk, groups.size() - first);
        solve({groups.data() + first, count}, systems);
    }
}

double DetectionFilters::output(std::size_t i, index_t range_cell) const {
    const Complex* filter = &filters_(static_cast<index_t>(i), 0);
    Complex sum = 0;
    for (index_t row = 0; row < problem_.order; ++row) {
        const cfloat* x = snapshot_row(problem_, cube_, detections_[i].doppler_bin, row);
        sum += std::conj(filter[row]) * Complex(x[range_cell]);
    }
    return std::abs(sum);
}

double DetectionFilters::gain(std::size_t i, const Wave& wave) const {
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

/// The wanted detections in groups of one covariance, of at most vectors_of_group.
std::vector<DetectionFilters::Group> DetectionFilters::groups_of(
    const std::vector<bool>& wanted) const {
    const auto place = [&](std::size_t i) {
        return std::pair(detections_[i].doppler_bin, detections_[i].range_cell);
    };
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i]) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(place(a), a) < std::pair(place(b), b);
    });
    std::vector<Group> groups;
    for (const std::size_t i : order) {
        const bool starts = groups.empty() || place(groups.back().front()) != place(i) ||
                            groups.back().size() == vectors_of_group;
        if (starts) groups.emplace_back();
        groups.back().push_back(i);
    }
    return groups;
}

void DetectionFilters::solve(std::span<const Group> groups, CellSystems& systems) {
    std::vector<Place> places;
    systems.vectors.reshape(
        {static_cast<index_t>(groups.size()), vectors_of_group, problem_.order});
    std::fill(systems.vectors.begin(), systems.vectors.end(), Complex(0));
    for (const Group& group : groups) {
        const Detection& any = detections_[group.front()];
        places.push_back({any.doppler_bin, any.range_cell, loading_of_run(any), true});
        for_vectors(groups, systems, places.size() - 1, [&](std::size_t i, Complex* v) {
            for (index_t j = 0; j < problem_.order; ++j)
                v[j] = Complex(steering_(detections_[i].steering_vector, j));
        });
    }
    solve_cells(cpu_, problem_, cube_, places, systems);
    for (std::size_t g = 0; g < groups.size(); ++g)
        for_vectors(groups, systems, g, [&](std::size_t i, const Complex* w) { store(i, w); });
}

double DetectionFilters::loading_of_run(const Detection& detection) const {
    if (problem_.parameters.precision != Precision::automatic) return 0;
    return automatic_loading(
        results_.attempt(detection.doppler_bin, training_set_of(problem_, detection.range_cell)));
}

void DetectionFilters::store(std::size_t i, const Complex* w) {
    Complex gain = 0;
    for (index_t j = 0; j < problem_.order; ++j)
        gain += std::conj(w[j]) * Complex(steering_(detections_[i].steering_vector, j));
    if (!(std::abs(gain) > 0)) return;
    for (index_t j = 0; j < problem_.order; ++j)
        filters_(static_cast<index_t>(i), j) = w[j] / std::abs(gain);
}

}  // namespace aperture::stap::cpu
