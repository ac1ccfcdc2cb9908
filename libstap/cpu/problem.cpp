// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>

#include "aperture/stap/parameters.hpp"
#include "libstap/gpu/range_pieces.hpp"

namespace aperture::stap {

using core::expects;

namespace {

constexpr double bytes_per_sample = sizeof(cfloat);

index_t window_width(const Parameters& p) {
    return index_t(p.training_block) + 2 * index_t(p.guard) + 1;
}

void check_shape(const CubeShape& shape) {
    expects(shape.channels > 0 && shape.pulses > 0 && shape.range_cells > 0,
            "empty cube: ", shape.channels, " channels, ", shape.pulses,
            shape.domain == Domain::pulse ? " pulses, " : " Doppler bins, ", shape.range_cells,
            " range cells");
    expects(shape.channels <= dense::max_order, shape.channels, " channels exceed the maximum of ",
            dense::max_order);
}

index_t choose_doppler_bins(const CubeShape& shape, const Parameters& parameters) {
    const index_t asked = parameters.doppler_bins;
    expects(asked >= 0, "doppler bins ", asked, " is negative");
    if (shape.domain == Domain::doppler) {
        expects(asked == 0 || asked == shape.pulses, "the cube has ", shape.pulses,
                " Doppler bins, which cannot be changed to ", asked);
        return shape.pulses;
    }
    expects(shape.pulses <= INT_MAX / 2, shape.pulses, " pulses are too many");
    expects(asked == 0 || asked >= shape.pulses, asked, " Doppler bins are fewer than the ",
            shape.pulses, " pulses; use ", shape.pulses, " or more");
    if (asked > 0) return asked;
    return static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(shape.pulses)));
}

void check_numbers(const Parameters& p, int steering_vectors) {
    expects(p.temporal_taps == 1 || p.temporal_taps == 3 || p.temporal_taps == 5,
            "temporal taps is ", p.temporal_taps, ", expected 1, 3 or 5");
    expects(steering_vectors >= 1 && steering_vectors <= max_steering_vectors, steering_vectors,
            " steering vectors, expected 1 to ", max_steering_vectors);
    expects(p.training_block >= 1, "training block ", p.training_block, " is less than 1");
    expects(p.guard >= 0, "guard ", p.guard, " is negative");
    expects(std::isfinite(p.loading.value) && p.loading.value >= 0, "diagonal loading ",
            p.loading.value, " is not a number >= 0");
    expects(p.guard == 0 || p.training != Training::block || p.detector == Detector::cfar, "guard ",
            p.guard, " requires sliding or all training, or the cfar detector");
}

void check_training_extent(const Problem& problem) {
    const Parameters& p = problem.parameters;
    const index_t cells = problem.shape.range_cells;
    const bool windowed = p.training == Training::sliding || p.detector == Detector::cfar;
    const index_t window = windowed ? window_width(p) : p.training_block;
    if (p.training != Training::all || windowed) {
        expects(window <= cells, "a training window of ", window, " range cells (training block ",
                p.training_block, ", guard ", p.guard, ") exceeds the cube's ", cells,
                "; use a smaller training block");
    } else {
        expects(cells > 2 * index_t(p.guard) + 1, "guard ", p.guard,
                " leaves no training cells among ", cells);
    }
}

/// An estimate from fewer cells than its order is always singular.
void check_training_support(const Problem& problem) {
    const Parameters& p = problem.parameters;
    if (p.loading.value > 0) return;
    index_t fewest = p.training_block;
    if (p.training == Training::block && is_adaptive(p.detector)) fewest -= 1;
    if (p.training == Training::all) fewest = problem.shape.range_cells - 2 * index_t(p.guard) - 1;
    expects(fewest >= problem.order, fewest, " training cells for a covariance of order ",
            problem.order, " (", problem.shape.channels, " channels x ", p.temporal_taps,
            " taps) make it singular; use a larger training block, fewer taps or diagonal loading");
}

/// A cell under test and its guard cells.
RangeSpan guarded_cells(const Problem& problem, index_t range_cell) {
    const index_t guard = problem.parameters.guard;
    return {std::max<index_t>(range_cell - guard, 0),
            std::min<index_t>(range_cell + guard + 1, problem.shape.range_cells)};
}

double matrices(const Problem& p) { return double(p.doppler_bins) * double(p.training_sets); }

Work make_work(double flop, double bytes) { return {flop * 1e-9, bytes * 1e-6}; }

double cube_bytes(const Problem& p) {
    return double(p.shape.channels) * p.doppler_bins * double(p.shape.range_cells) *
           bytes_per_sample;
}

double output_bytes(const Problem& p) {
    return double(p.steering_vectors) * p.doppler_bins * double(p.shape.range_cells) *
           bytes_per_sample;
}

/// Bytes of a complex number in the precision of covariance and solution.
double adaptive_bytes(const Problem& p) {
    return starts_in_fp64(p) ? 2 * bytes_per_sample : bytes_per_sample;
}

double covariance_bytes(const Problem& p) {
    return matrices(p) * p.order * p.order * adaptive_bytes(p);
}

double weights_bytes(const Problem& p) {
    return matrices(p) * p.steering_vectors * p.order * adaptive_bytes(p);
}

}  // namespace

Problem make_problem(const CubeShape& shape, const Parameters& parameters, int steering_vectors) {
    check_shape(shape);
    check_numbers(parameters, steering_vectors);
    Problem problem{shape, parameters};
    const index_t doppler_bins = choose_doppler_bins(shape, parameters);
    expects(doppler_bins >= parameters.temporal_taps, doppler_bins, " Doppler bins are fewer than ",
            parameters.temporal_taps, " temporal taps");
    expects(doppler_bins <= INT_MAX / 2, doppler_bins, " Doppler bins are too many");
    const index_t order = shape.channels * parameters.temporal_taps;
    expects(order <= dense::max_order, "order ", order, " (", shape.channels, " channels x ",
            parameters.temporal_taps, " taps) exceeds ", dense::max_order, "; use fewer taps");
    problem.doppler_bins = static_cast<int>(doppler_bins);
    problem.order = static_cast<int>(order);
    problem.steering_vectors = steering_vectors;
    check_training_extent(problem);
    check_training_support(problem);
    switch (parameters.training) {
        case Training::block:
            problem.training_sets =
                (shape.range_cells + parameters.training_block - 1) / parameters.training_block;
            break;
        case Training::sliding:
            problem.training_sets = shape.range_cells;
            break;
        case Training::all:
            problem.training_sets = 1;
            break;
    }
    return problem;
}

RangeSpan training_cells(const Problem& problem, index_t training_set) {
    const index_t cells = problem.shape.range_cells;
    if (problem.parameters.training == Training::all) return {0, cells};
    const index_t block = problem.parameters.training_block;
    const index_t begin = std::min(training_set * block, cells - block);
    return {begin, begin + block};
}

index_t training_set_of(const Problem& problem, index_t range_cell) {
    if (problem.parameters.training == Training::all) return 0;
    if (problem.parameters.training == Training::sliding) return range_cell;
    return range_cell / problem.parameters.training_block;
}

TrainingWindow reference_window(const Problem& problem, index_t range_cell) {
    const Parameters& p = problem.parameters;
    const index_t width = window_width(p);
    const index_t begin = std::clamp<index_t>(range_cell - p.guard - p.training_block / 2, 0,
                                              problem.shape.range_cells - width);
    return {{begin, begin + width}, guarded_cells(problem, range_cell)};
}

TrainingWindow training_window(const Problem& problem, index_t range_cell) {
    if (problem.parameters.training == Training::sliding)
        return reference_window(problem, range_cell);
    return {{0, problem.shape.range_cells}, guarded_cells(problem, range_cell)};
}

index_t independent_training_cells(const Problem& problem, index_t range_cell) {
    const Parameters& p = problem.parameters;
    if (p.detector == Detector::cfar) return reference_window(problem, range_cell).cells();
    if (p.training == Training::block) return p.training_block - 1;
    return training_window(problem, range_cell).cells();
}

Work doppler_work(const Problem& p) {
    if (p.shape.domain == Domain::doppler) return {};
    const double transforms = double(p.shape.channels) * double(p.shape.range_cells);
    return make_work(5 * p.doppler_bins * std::log2(double(p.doppler_bins)) * transforms,
                     transforms * double(p.shape.pulses) * bytes_per_sample + cube_bytes(p));
}

Work covariance_work(const Problem& p) {
    const double cells = p.parameters.training == Training::all ? double(p.shape.range_cells)
                                                                : p.parameters.training_block;
    return make_work(4.0 * p.order * p.order * cells * matrices(p),
                     cube_bytes(p) + covariance_bytes(p));
}

Work weights_work(const Problem& p) {
    const double n = p.order;
    return make_work((4.0 / 3 * n * n * n + 8 * n * n * p.steering_vectors) * matrices(p),
                     covariance_bytes(p) + weights_bytes(p));
}

Work weighting_work(const Problem& p) {
    const double cells = double(p.doppler_bins) * double(p.shape.range_cells);
    return make_work(8.0 * p.order * p.steering_vectors * cells,
                     cube_bytes(p) + weights_bytes(p) + output_bytes(p));
}

Work adaptive_work(const Problem& p) {
    const double gflop = covariance_work(p).gflop + weights_work(p).gflop + weighting_work(p).gflop;
    return {gflop, (cube_bytes(p) + output_bytes(p)) * 1e-6};
}

Work detect_work(const Problem& p) {
    const double cells = double(p.doppler_bins) * double(p.shape.range_cells);
    return make_work(0, cells * p.steering_vectors * (bytes_per_sample + sizeof(float)));
}

bool starts_in_fp64(const Problem& p) {
    const Precision precision = p.parameters.precision;
    return precision == Precision::mixed ||
           (precision == Precision::automatic && p.parameters.training == Training::all);
}

index_t workspace_bytes(const Problem& p) {
    constexpr index_t sample = sizeof(cfloat);
    const Parameters& of = p.parameters;
    const index_t bins = p.doppler_bins;
    const index_t n = p.order;
    const index_t vectors = p.steering_vectors;
    const index_t cells = p.shape.range_cells;
    const bool block = of.training == Training::block;
    const bool all = of.training == Training::all;
    const int real_bytes = starts_in_fp64(p) ? sizeof(double) : sizeof(float);
    const index_t steering = sample * n * vectors;
    index_t bytes = steering;
    if (p.shape.domain == Domain::pulse) {
        bytes += sample * p.shape.channels * bins * cells;
        bytes += static_cast<index_t>(sizeof(float)) * p.shape.pulses;
    }
    if (all) {
        bytes += 2 * real_bytes * bins * (n * (n + 1) / 2);
        bytes += static_cast<index_t>(sizeof(int)) * bins * cells;
    }
    if (of.implementation == Implementation::fused) return bytes;
    const index_t sets = block ? p.training_sets : cells;
    const index_t held = bins * gpu::sets_at_a_time(p, sets, real_bytes);
    bytes += 2 * real_bytes * held * n * (n + vectors);
    if (block) bytes += sample * held * n * of.training_block;
    if (of.implementation == Implementation::staged) return bytes;
    // The cuBLAS baseline: steering vectors twice more, inverses, pivots, info, pointers to six
    // arrays of matrices and to three of the last block of each bin.
    constexpr index_t pointer = sizeof(void*);
    const index_t of_matrix = sample * n * n + static_cast<index_t>(sizeof(int)) * (n + 1);
    return bytes + 2 * steering + held * (of_matrix + 6 * pointer) + 3 * bins * pointer;
}

}  // namespace aperture::stap
