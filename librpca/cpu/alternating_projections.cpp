// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/alternating_projections.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aperture/core/timing.hpp"
#include "librpca/penalty.hpp"

namespace aperture::rpca::cpu {
namespace {

/// The first threshold, in deviations of M from its medians.
constexpr double first_deviations = 6;
/// Of normal noise, the median of sizes over the deviation.
constexpr double median_size = 0.6744897501960817;
/// What the threshold is multiplied by (gamma).
constexpr double decay = 0.5;

}  // namespace

index_t rank_of(const Parameters& parameters, index_t frames, index_t values) {
    constexpr index_t most = 10;
    constexpr index_t frames_for_one = 10;
    const index_t wanted = parameters.rank > 0
                               ? parameters.rank
                               : std::min(most, (frames + frames_for_one - 1) / frames_for_one);
    return std::min({wanted, frames, values});
}

template <class T>
AlternatingProjections<T>::AlternatingProjections(index_t frames, index_t values,
                                                  const Parameters& parameters)
    : frames_(frames),
      values_(values),
      parameters_(parameters),
      rank_(rank_of(parameters, frames, values)),
      matrix_(frames, values, rank_, parameters.mask_threshold > 0),
      spectrum_(frames),
      subspace_(frames, rank_, matrix_.width()) {
    const index_t most = std::max(2 * matrix_.width(), frames);
    projection_.basis.reserve(most);
    projection_.coefficients.reserve(most);
    projection_.directions.reserve(most);
    projection_.mask_threshold = static_cast<T>(parameters.mask_threshold);
}

template <class T>
void AlternatingProjections<T>::start(core::Cpu& cpu) {
    const index_t width = matrix_.width();
    const auto k = subspace_.k();
    matrix_.start_with_medians(cpu);
    std::fill_n(k.data, k.size(), 0.0);
    for (index_t f = 0; f < frames_; ++f) k(width, f) = 1;
    threshold_ =
        first_deviations * matrix_.median_of_rest(std::as_const(subspace_).k()) / median_size;

    Projection<T>& p = projection_;
    p.basis.columns = 0;
    p.directions.columns = 0;
    p.coefficients.set(2 * width, frames_, [&](index_t i, index_t f) { return k(i, f); });
    p.threshold = static_cast<T>(threshold_);
    p.sums_rest = true;
    matrix_.pass(cpu, p);
    p.sums_rest = false;

    spectrum_.decompose_gram(matrix_.rest_gram());
    p.directions.set(frames_, rank_, [&](index_t f, index_t i) { return spectrum_.vector(f, i); });
    p.replaces_basis = true;
    matrix_.pass(cpu, p);
    p.replaces_basis = false;
    for (index_t f = 0; f < frames_; ++f) {
        for (index_t i = 0; i < rank_; ++i) k(i, f) = spectrum_.vector(f, i);
    }
}

template <class T>
void AlternatingProjections<T>::set_projection() {
    const index_t width = matrix_.width();
    const index_t rank = subspace_.rank();
    // U keeps no column of the one before it.
    projection_.basis.set(2 * width, rank_, [&](index_t i, index_t j) {
        return j < rank ? subspace_.basis(i, j) : 0.0;
    });
    projection_.coefficients.set(width, frames_, [&](index_t i, index_t f) {
        return i < rank ? subspace_.coefficient(i, f) : 0.0;
    });
    projection_.directions.set(frames_, rank_, [&](index_t f, index_t i) {
        return i < rank ? subspace_.direction(f, i) : 0.0;
    });
}

template <class T>
bool AlternatingProjections<T>::watch_mask(const ProjectionSums& sums, Outcome& outcome,
                                           const core::Stopwatch& watch) {
    if (parameters_.mask_threshold <= 0) return false;
    const double share =
        sums.mask_changes / (static_cast<double>(values_) * static_cast<double>(frames_));
    steady_ = share > steady_share ? 0 : steady_ + 1;
    if (steady_ < steady_iterations) return false;
    outcome.iterations_to_mask = outcome.iterations;
    outcome.seconds_to_mask = watch.seconds();
    return true;
}

template <class T>
Outcome AlternatingProjections<T>::run(core::Cpu& cpu, FramesView<const T, core::Host> m,
                                       FramesView<T, core::Host> low_rank,
                                       FramesView<T, core::Host> sparse,
                                       const std::function<bool(const Progress&)>& observe) {
    const core::Stopwatch watch;
    Outcome outcome;
    steady_ = 0;
    const double norm = std::sqrt(matrix_.load(cpu, m));
    start(cpu);
    const double size = static_cast<double>(values_) * static_cast<double>(frames_);
    const double share_of_next = 1 / (2 * std::sqrt(std::sqrt(size)));  // beta
    // What rounding makes of nothing.
    const double least =
        std::max(32 * static_cast<double>(std::numeric_limits<T>::epsilon()), 1e-7);
    double factor = 1;
    for (bool last = false;; last = last || outcome.converged) {
        subspace_.truncate(matrix_.panel_gram(), least);
        set_projection();
        const double of_next =
            outcome.iterations > 0 ? share_of_next * subspace_.singular_value(rank_) : 0;
        projection_.threshold = static_cast<T>(factor * threshold_ + of_next);
        factor *= decay;
        ++outcome.iterations;
        last = last || outcome.iterations == parameters_.max_iterations;
        const ProjectionSums sums = last ? matrix_.finish(cpu, projection_, low_rank, sparse)
                                         : matrix_.pass(cpu, projection_);
        outcome.residual = norm > 0 ? std::sqrt(sums.residual_square) / norm : 0;
        outcome.rank = static_cast<int>(subspace_.rank());
        outcome.sparsity = sums.zeros / size;
        outcome.converged = outcome.converged || outcome.residual <= parameters_.tolerance;
        if (last) break;
        subspace_.add_tangent(matrix_.cross());
        last = watch_mask(sums, outcome, watch);
        if (observe && !observe({outcome.iterations, outcome.residual, outcome.rank})) last = true;
    }
    return outcome;
}

template class AlternatingProjections<float>;
template class AlternatingProjections<double>;

}  // namespace aperture::rpca::cpu
