// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/robust_pca.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/core/timing.hpp"
#include "librpca/checks.hpp"
#include "librpca/cpu/projected_matrix.hpp"
#include "librpca/cpu/spectrum.hpp"
#include "librpca/cpu/sweep.hpp"
#include "librpca/penalty.hpp"
#include "librpca/qr_method.hpp"

namespace aperture::rpca {

void validate(const Parameters& parameters) {
    core::expects(parameters.lambda >= 0 && std::isfinite(parameters.lambda),
                  "lambda must not be negative, is ", parameters.lambda);
    core::expects(parameters.tolerance > 0 && parameters.tolerance < 1,
                  "tolerance must lie between 0 and 1, is ", parameters.tolerance);
    core::expects(parameters.max_iterations > 0, "iterations must be positive, are ",
                  parameters.max_iterations);
    core::expects(parameters.mask_threshold >= 0, "mask threshold must not be negative, is ",
                  parameters.mask_threshold);
    core::expects(parameters.rank >= 0, "rank must not be negative, is ", parameters.rank);
}

namespace {

/// R factor of W minus its temporal mean: R of the QR of W, each row minus its mean.
template <class T>
class TriangleOfW {
  public:
    TriangleOfW(core::Cpu& cpu, Svd svd, index_t frames, index_t values)
        : qr_(cpu, qr_method(svd), values, frames),
          w_({frames, values}),
          r_({frames, frames}),
          fp64_({frames, frames}) {}

    core::View<const double, 2, core::Host> find(core::Cpu& cpu,
                                                 const cpu::SweptMatrix<T>& matrix) {
        matrix.copy_w(cpu, w_);
        qr_.find_r({w_.data(), {w_.extent()[1], w_.extent()[0]}, {1, w_.extent()[1]}}, r_);
        std::copy(r_.begin(), r_.end(), fp64_.begin());
        const index_t frames = fp64_.extent()[0];
        for (index_t i = 0; i < frames; ++i) {
            double* const row = &fp64_(i, 0);
            const double mean =
                std::accumulate(row, row + frames, 0.0) / static_cast<double>(frames);
            std::transform(row, row + frames, row, [&](double x) { return x - mean; });
        }
        return std::as_const(fp64_).view();
    }

  private:
    dense::TallQr<T, core::Cpu> qr_;
    core::Array<T, 2> w_;
    core::Array<T, 2> r_;
    core::Array<double, 2> fp64_;
};

}  // namespace

template <std::floating_point T, class Executor>
struct RobustPca<T, Executor>::State {
    core::Cpu& cpu;
    index_t frames;
    index_t values;
    Parameters parameters;
    cpu::SweptMatrix<T> matrix;
    std::optional<TriangleOfW<T>> triangle;  ///< if it replaces the Gram matrix
    cpu::Spectrum spectrum;
    dense::tall::Factor<T> first = {};
    dense::tall::Factor<T> second = {};
    cpu::Step<T> step = {};
    int rank = 0;

    void find_spectrum() {
        if (triangle) {
            spectrum.decompose_triangle(triangle->find(cpu, matrix));
        } else {
            spectrum.decompose_gram(matrix.gram());
        }
    }
    /// Sets the factors of P with L = W P from the spectrum of W.
    void threshold_singular_values(double threshold);
    bool watch_mask(const cpu::StepSums& sums, Outcome& outcome, const core::Stopwatch& watch);
    int steady = 0;
    using Projections = AlternatingProjections<T, cpu::ProjectedMatrix<T>>;
    std::optional<Projections> projections = {};  ///< if set, `matrix` is empty
};

/// P = 1 1^T / frames + V diag(max(s - t, 0) / s) V^T, as two factors if that is less work.
template <std::floating_point T, class Executor>
void RobustPca<T, Executor>::State::threshold_singular_values(double threshold) {
    const index_t r = spectrum.count_above(threshold);
    rank = static_cast<int>(r) + 1;
    const double share = 1 / static_cast<double>(frames);
    const auto kept = [&](index_t i) { return 1 - threshold / spectrum.singular_value(i); };
    if (2 * r < frames) {
        step.second = &second;
        first.set(frames, r + 1,
                  [&](index_t i, index_t k) { return k == r ? share : spectrum.vector(i, k); });
        second.set(r + 1, frames, [&](index_t k, index_t j) {
            return k == r ? 1 : kept(k) * spectrum.vector(j, k);
        });
        return;
    }
    step.second = nullptr;
    first.set(frames, frames, [&](index_t i, index_t j) {
        double sum = share;
        for (index_t k = 0; k < r; ++k) {
            sum += spectrum.vector(i, k) * kept(k) * spectrum.vector(j, k);
        }
        return sum;
    });
}

template <std::floating_point T, class Executor>
bool RobustPca<T, Executor>::State::watch_mask(const cpu::StepSums& sums, Outcome& outcome,
                                               const core::Stopwatch& watch) {
    if (parameters.mask_threshold <= 0) return false;
    const double share =
        sums.mask_changes / (static_cast<double>(values) * static_cast<double>(frames));
    const bool unchanged = share <= steady_share && outcome.residual <= steady_residual;
    steady = unchanged ? steady + 1 : 0;
    if (steady < steady_iterations) return false;
    outcome.iterations_to_mask = outcome.iterations;
    outcome.seconds_to_mask = watch.seconds();
    return true;
}

template <std::floating_point T, class Executor>
RobustPca<T, Executor>::RobustPca(Executor& executor, index_t frames, index_t values,
                                  const Parameters& parameters) {
    expects_problem(frames, values, parameters);
    const bool by_gram = parameters.svd == Svd::gram;
    const bool projects = parameters.solver == Solver::accaltproj;
    state_ = std::make_unique<State>(
        State{executor, frames, values, parameters,
              cpu::SweptMatrix<T>(projects ? 0 : frames, projects ? 0 : values,
                                  {by_gram, parameters.mask_threshold > 0}),
              std::nullopt, cpu::Spectrum(projects ? 0 : frames)});
    if (projects) {
        state_->projections.emplace(executor, frames, values, parameters);
        return;
    }
    if (!by_gram) state_->triangle.emplace(executor, parameters.svd, frames, values);
    state_->first.reserve(frames, frames + 1);
    state_->second.reserve(frames + 1, frames);
    state_->step.first = &state_->first;
}
template <std::floating_point T, class Executor>
RobustPca<T, Executor>::~RobustPca() = default;
template <std::floating_point T, class Executor>
RobustPca<T, Executor>::RobustPca(RobustPca&&) noexcept = default;
template <std::floating_point T, class Executor>
RobustPca<T, Executor>& RobustPca<T, Executor>::operator=(RobustPca&&) noexcept = default;

template <std::floating_point T, class Executor>
Outcome RobustPca<T, Executor>::run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                                    FramesView<T, Space> sparse,
                                    const std::function<bool(const Progress&)>& observe) {
    State& s = *state_;
    expects_frames(s.frames, s.values, m, low_rank, sparse);
    if (s.projections) return s.projections->run(m, low_rank, sparse, observe);
    const core::Stopwatch watch;
    Outcome outcome;
    s.steady = 0;
    s.rank = 0;
    const cpu::Sizes sizes = s.matrix.load(s.cpu, m);
    s.find_spectrum();
    cpu::Step<T>& step = s.step;
    const double norm = std::sqrt(sizes.square);
    const bool black = sizes.largest == 0;
    const double lambda = lambda_of(s.parameters, s.frames, s.values);
    const Penalty penalty = black ? Penalty{1, 1, 0, 0}
                                  : penalty_of(s.parameters.solver,
                                               {sizes.largest, sizes.sum, sizes.ground_square,
                                                s.spectrum.singular_value(0)},
                                               s.frames, s.values, lambda);
    double mu = penalty.mu;
    step.y_scale = static_cast<T>(penalty.y_over_m / mu);
    step.threshold = static_cast<T>(lambda / mu);
    step.mask_threshold = static_cast<T>(s.parameters.mask_threshold);
    // L starts as the temporal mean.
    s.threshold_singular_values(std::numeric_limits<double>::infinity());
    s.matrix.step(s.cpu, step);
    for (bool last = false;; last = last || outcome.converged) {
        s.find_spectrum();
        s.threshold_singular_values(1 / mu);
        const double next = penalty.next(mu);
        step.y_scale = static_cast<T>(mu / next);
        step.threshold = static_cast<T>(lambda / next);
        ++outcome.iterations;
        last = last || outcome.iterations == s.parameters.max_iterations;
        const cpu::StepSums sums =
            last ? s.matrix.finish(s.cpu, step, low_rank, sparse) : s.matrix.step(s.cpu, step);
        mu = next;
        outcome.residual = black ? 0 : std::sqrt(sums.residual_square) / norm;
        outcome.rank = black ? 0 : s.rank;
        outcome.density =
            1 - sums.zeros / (static_cast<double>(s.frames) * static_cast<double>(s.values));
        outcome.converged = outcome.converged || outcome.residual <= s.parameters.tolerance;
        if (last) return outcome;
        last = s.watch_mask(sums, outcome, watch);
        if (observe && !observe({outcome.iterations, outcome.residual, outcome.rank})) last = true;
    }
}

template class RobustPca<float, core::Cpu>;
template class RobustPca<double, core::Cpu>;

}  // namespace aperture::rpca
