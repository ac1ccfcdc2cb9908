// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "librpca/cpu/spectrum.hpp"
#include "librpca/cpu/subspace.hpp"
#include "librpca/medians.hpp"
#include "librpca/run_state.hpp"
#include "librpca/workspace.hpp"

namespace aperture::rpca {

/// One pass of alternating projections over M and the panel [U Y], with `width` columns in each of
/// U and Y:
///
///     U' = [U Y] basis,  L = U' coefficients,  R = M - L where |M - L| <= threshold, else 0,
///     Y' = R directions
///
/// It also sums the products that the next U depends on. A Factor is a small matrix with `columns`,
/// reserve(rows, columns) and set(rows, columns, element(row, column)).
template <class T, class Factor>
struct Projection {
    Factor basis = {};         ///< without columns: U is unchanged
    Factor coefficients = {};  ///< of U or, with twice the rows, of [U Y]
    Factor directions = {};    ///< without columns: Y is unchanged
    T threshold = 0;
    T mask_threshold = 0;         ///< if positive, changes of the mask are counted
    bool replaces_basis = false;  ///< R directions become U instead of Y
    bool sums_rest = false;       ///< R^T R is summed instead of products with U and Y
};

/// Accelerated alternating projections (Cai, Cai & Wei 2019), Solver::accaltproj of RobustPca.
/// Small matrices are on the host; Matrix owns M, U and Y, as cpu::ProjectedMatrix does.
template <class T, class Matrix>
class AlternatingProjections {
    using Executor = typename Matrix::Executor;
    using Space = typename Executor::Space;

  public:
    AlternatingProjections(Executor& executor, index_t frames, index_t values,
                           const Parameters& parameters)
        : frames_(frames),
          values_(values),
          parameters_(parameters),
          rank_(rank_of(parameters, frames, values)),
          matrix_(executor, frames, values, rank_, parameters.mask_threshold > 0),
          spectrum_(frames),
          subspace_(frames, rank_, matrix_.width()) {
        const index_t width = matrix_.width();
        projection_.basis.reserve(2 * width, rank_);
        projection_.coefficients.reserve(2 * width, frames);
        projection_.directions.reserve(frames, rank_);
        projection_.mask_threshold = static_cast<T>(parameters.mask_threshold);
    }

    Outcome run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                FramesView<T, Space> sparse, const std::function<bool(const Progress&)>& observe) {
        const core::Stopwatch watch;
        const double norm = std::sqrt(matrix_.load(m));
        start();
        const double size = static_cast<double>(values_) * static_cast<double>(frames_);
        const double share_of_next = 1 / (2 * std::sqrt(std::sqrt(size)));  // beta
        // Singular values below this share of the largest are rounding error.
        const double least =
            std::max(32 * static_cast<double>(std::numeric_limits<T>::epsilon()), 1e-7);
        const EndRules rules =
            end_rules(parameters_, norm, size, std::numeric_limits<double>::infinity());
        RunState state;
        Outcome outcome;
        bool asked_to_end = false;
        double factor = 1;
        for (;;) {
            subspace_.truncate(matrix_.panel_gram(), least);
            set_projection();
            const double of_next =
                state.iterations > 0 ? share_of_next * subspace_.singular_value(rank_) : 0;
            projection_.threshold = static_cast<T>(factor * threshold_ + of_next);
            factor *= decay;
            const bool last = asked_to_end || state.iterations + 1 == parameters_.max_iterations;
            const PassSums sums = is_last_pass(state, last)
                                      ? matrix_.finish(projection_, low_rank, sparse)
                                      : matrix_.pass(projection_);
            advance(state, sums, rules, last);
            update(outcome, state, size, watch);
            outcome.rank = static_cast<int>(subspace_.rank());
            if (state.done != 0) return outcome;
            subspace_.add_tangent(matrix_.cross());
            asked_to_end =
                observe && !observe({outcome.iterations, outcome.residual, outcome.rank});
        }
    }

    static WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values,
                                const Parameters& parameters) {
        const index_t rank = rank_of(parameters, frames, values);
        const index_t small = cpu::Spectrum::gram_bytes(frames) +
                              cpu::Subspace::bytes(frames, rank, Matrix::width_of(rank));
        return Matrix::bytes(executor, frames, values, rank, parameters.mask_threshold > 0) +
               WorkspaceBytes{small, 0};
    }

  private:
    /// The first threshold, in standard deviations of M around its medians.
    static constexpr double first_deviations = 6;
    /// Factor of the threshold per iteration (gamma).
    static constexpr double decay = 0.5;

    /// Initialises [U Y] and K with the medians and the largest principal components of the
    /// remainder.
    void start() {
        const index_t width = matrix_.width();
        const auto k = subspace_.k();
        matrix_.start_with_medians();
        std::fill_n(k.data, k.size(), 0.0);
        for (index_t f = 0; f < frames_; ++f) k(width, f) = 1;
        threshold_ = first_deviations * matrix_.median_of_rest(std::as_const(subspace_).k()) /
                     median_of_normal_size;

        typename Matrix::Pass& p = projection_;
        p.basis.columns = 0;
        p.directions.columns = 0;
        p.coefficients.set(2 * width, frames_, [&](index_t i, index_t f) { return k(i, f); });
        p.threshold = static_cast<T>(threshold_);
        p.sums_rest = true;
        matrix_.pass(p);
        p.sums_rest = false;

        spectrum_.decompose_gram(matrix_.rest_gram());
        p.directions.set(frames_, rank_,
                         [&](index_t f, index_t i) { return spectrum_.vector(f, i); });
        p.replaces_basis = true;
        matrix_.pass(p);
        p.replaces_basis = false;
        for (index_t f = 0; f < frames_; ++f) {
            for (index_t i = 0; i < rank_; ++i) k(i, f) = spectrum_.vector(f, i);
        }
    }
    void set_projection() {
        const index_t width = matrix_.width();
        const index_t rank = subspace_.rank();
        // The new U has no more columns than the new rank.
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

    index_t frames_;
    index_t values_;
    Parameters parameters_;
    index_t rank_;
    Matrix matrix_;
    cpu::Spectrum spectrum_;
    cpu::Subspace subspace_;
    typename Matrix::Pass projection_;
    double threshold_ = 0;  ///< of the first iteration
};

}  // namespace aperture::rpca
