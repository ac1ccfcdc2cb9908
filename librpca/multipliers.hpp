// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "aperture/dense/tall_qr.hpp"
#include "librpca/run_state.hpp"

namespace aperture::rpca {

/// The penalty mu of ||M - L - S||^2 and its growth per iteration.
struct Penalty {
    double mu = 0;
    double growth = 1;
    double largest = 0;
    double y_over_m = 0;  ///< the first multipliers: Y = y_over_m M

    double next(double now) const { return std::min(now * growth, std::max(largest, now)); }
};

/// Lin, Chen & Ma 2010, section 4; Candes et al. 2011, section 5. M is not zero. ||M||_2 is
/// estimated as if its constant and its changing part were orthogonal, as they nearly are for a
/// video. The estimate is an upper bound, too large by a factor of at most sqrt(2).
/// `changing_norm` is ||M||_2 without the temporal means.
inline Penalty penalty_of(Solver solver, const MatrixNorms& norms, double changing_norm,
                          index_t frames, index_t values, double lambda) {
    if (solver == Solver::admm) {
        const double size = static_cast<double>(values) * static_cast<double>(frames);
        return {size / (4 * norms.sum), 1, 0, 0};
    }
    constexpr double start = 1.25;
    constexpr double growth = 1.5;
    constexpr double range = 1e7;
    const double norm2 =
        std::hypot(std::sqrt(static_cast<double>(frames) * norms.ground_square), changing_norm);
    const double mu = start / norm2;
    return {mu, growth, range * mu, 1 / std::max(norm2, norms.largest / lambda)};
}

/// The QR method of an Svd other than gram.
inline dense::QrMethod qr_method(Svd svd) {
    return svd == Svd::cholqr2 ? dense::QrMethod::cholesky2 : dense::QrMethod::tsqr;
}

/// One pass of augmented Lagrange multipliers over M and W = M - S + Y / mu:
///
///     L = W P,  Y / mu' = (W - L) y_scale,  S' = shrink(M - L + Y / mu', threshold),
///     W' = M - S' + Y / mu'
///
/// All but S and Y are without the ground, each value's mean over M's frames and the largest part
/// of a video; rounding is then relative to what changes. P keeps the temporal mean, and therefore
/// leaves the ground unchanged.
template <class T, class Space>
struct MultiplierPass {
    T y_scale = 0;
    T threshold = 0;
    T mask_threshold = 0;  ///< if positive, changes of the mask are counted
    int iteration = 0;     ///< from 1; 0: before the first, leaves the state of the run unchanged
    /// L and S' are written unless they are empty, and W is left unchanged, in the last pass:
    /// because of this, or of the state of the run.
    bool last = false;
    EndRules rules = {};
    FramesView<T, Space> low_rank = {};
    FramesView<T, Space> sparse = {};
};

/// The method of multipliers, Solver::ialm and admm of RobustPca. Operations owns M, W, P and the
/// state of the run, and has
///
///     load(m)                         copies M into M and W, begins with the temporal mean as L,
///                                     and returns norms of M; throws core::InvalidArgument for a
///                                     NaN or an infinity
///     norm2()                         of W minus its temporal mean
///     threshold_singular_values(mu)   sets P from the singular values of W less 1 / mu
///     pass(pass)
///     state(iteration)                of the run after its pass; waits for it
///     iterations_ahead                passes that are submitted before the state after a pass is
///                                     read: 0 or 1
template <class T, class Operations>
class Multipliers {
    using Executor = typename Operations::Executor;
    using Space = typename Executor::Space;

  public:
    Multipliers(Executor& executor, index_t frames, index_t values, const Parameters& parameters)
        : executor_(executor),
          frames_(frames),
          values_(values),
          parameters_(parameters),
          operations_(executor, frames, values, parameters) {}

    Outcome run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                FramesView<T, Space> sparse, const std::function<bool(const Progress&)>& observe) {
        const core::Stopwatch watch;
        const MatrixNorms norms = operations_.load(m);
        const double size = static_cast<double>(frames_) * static_cast<double>(values_);
        const bool black = norms.largest == 0;
        const double lambda = lambda_of(parameters_, frames_, values_);
        const Penalty penalty = black ? Penalty{1, 1, 0, 0}
                                      : penalty_of(parameters_.solver, norms, operations_.norm2(),
                                                   frames_, values_, lambda);
        double mu = penalty.mu;
        MultiplierPass<T, Space> pass;
        pass.y_scale = static_cast<T>(penalty.y_over_m / mu);
        pass.threshold = static_cast<T>(lambda / mu);
        pass.mask_threshold = static_cast<T>(parameters_.mask_threshold);
        pass.rules = end_rules(parameters_, std::sqrt(norms.square), size, steady_residual);
        pass.low_rank = low_rank;
        pass.sparse = sparse;
        operations_.pass(pass);

        Outcome outcome;
        bool asked_to_end = false;
        /// Returns whether the run has ended, with this iteration or earlier.
        const auto has_ended = [&](int iteration) {
            const RunState& state = operations_.state(iteration);
            update(outcome, state, size, watch);
            outcome.rank = black ? 0 : state.rank + 1;
            if (state.done != 0) return true;
            if (observe && !asked_to_end) {
                asked_to_end = !observe({outcome.iterations, outcome.residual, outcome.rank});
            }
            return false;
        };
        constexpr int ahead = Operations::iterations_ahead;
        for (bool ended = false; !ended;) {
            operations_.threshold_singular_values(mu);
            const double next = penalty.next(mu);
            pass.y_scale = static_cast<T>(mu / next);
            pass.threshold = static_cast<T>(lambda / next);
            ++pass.iteration;
            pass.last = asked_to_end || pass.iteration == parameters_.max_iterations;
            operations_.pass(pass);
            mu = next;
            ended = (pass.iteration > ahead && has_ended(pass.iteration - ahead)) ||
                    (pass.last && has_ended(pass.iteration));
        }
        executor_.synchronize();
        return outcome;
    }
    void set_lambda(double lambda) { parameters_.lambda = lambda; }

  private:
    /// No mask is final above this residual. In the first iterations no singular value exceeds the
    /// threshold: the background is the mean, whose mask does not change.
    static constexpr double steady_residual = 1e-2;

    Executor& executor_;
    index_t frames_;
    index_t values_;
    Parameters parameters_;
    Operations operations_;
};

}  // namespace aperture::rpca
