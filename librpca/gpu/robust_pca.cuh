// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// RobustPca on a device. Host code; template parameters are the executor, the eigensolver for
// matrices that do not fit one block's shared memory, and the tall QR.

#include "librpca/gpu/projected_matrix.cuh"
#include "librpca/gpu/spectrum.cuh"
#include "librpca/gpu/swept_matrix.cuh"

#if !defined(__CUDACC_RTC__)

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "aperture/core/timing.hpp"
#include "libcore/gpu/mark.cuh"
#include "librpca/checks.hpp"
#include "librpca/penalty.hpp"

namespace aperture::rpca::gpu {

/// More frames would overflow the int indices of Gram matrices.
inline void expects_device_problem(index_t frames, index_t values, const Parameters& parameters) {
    constexpr index_t most_frames = 16384;
    expects_problem(frames, values, parameters);
    core::expects(frames <= most_frames, "on a device there may be ", most_frames,
                  " frames at most, are ", frames);
}

/// By multipliers: Solver::ialm and admm.
template <class T, class Executor, class Eigenvectors, class Qr>
class DeviceMultipliers {
    using Space = typename Executor::Space;

  public:
    DeviceMultipliers(Executor& executor, index_t frames, index_t values,
                      const Parameters& parameters)
        : executor_(executor),
          frames_(frames),
          values_(values),
          parameters_(parameters),
          matrix_(executor, frames, values, parameters.svd, parameters.mask_threshold > 0),
          spectrum_(executor, frames),
          state_({1}),
          begun_state_({1}, locked_pages<Space>()) {
        for (Reading& reading : readings_) {
            reading.state = core::Array<RunState, 1>({1}, locked_pages<Space>());
        }
    }

    Outcome run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                FramesView<T, Space> sparse, const std::function<bool(const Progress&)>& observe) {
        const core::Stopwatch watch;
        const LoadedSums loaded = matrix_.load(m);
        const double size = static_cast<double>(frames_) * static_cast<double>(values_);
        expects_finite(loaded.not_finite == no_index, loaded.not_finite, values_);
        begin();
        const bool black = loaded.largest == 0;
        const double lambda = lambda_of(parameters_, frames_, values_);
        const Penalty penalty =
            black ? Penalty{1, 1, 0, 0}
                  : penalty_of(parameters_.solver,
                               {loaded.largest, loaded.sum, loaded.ground_square, norm2()}, frames_,
                               values_, lambda);
        double mu = penalty.mu;
        Pass<T, Space> pass;
        pass.y_scale = static_cast<T>(penalty.y_over_m / mu);
        pass.threshold = static_cast<T>(lambda / mu);
        pass.mask_threshold = static_cast<T>(parameters_.mask_threshold);
        pass.rules = {parameters_.tolerance * parameters_.tolerance * loaded.square,
                      parameters_.mask_threshold > 0 ? steady_share * size : -1.0,
                      steady_residual * steady_residual * loaded.square, steady_iterations};
        pass.low_rank = low_rank;
        pass.sparse = sparse;
        // L starts as the temporal mean, as after loading M.
        matrix_.step(pass, state_.data());

        Outcome outcome;
        bool asked_to_end = false;
        for (int iteration = 1;; ++iteration) {
            spectrum_.find(matrix_.gram(), mu * mu, state_.data());
            matrix_.set_factor(spectrum_.function(), spectrum_.transposed_basis(), state_.data());
            const double next = penalty.next(mu);
            pass.y_scale = static_cast<T>(mu / next);
            pass.threshold = static_cast<T>(lambda / next);
            pass.counts = true;
            pass.last = asked_to_end || iteration == parameters_.max_iterations;
            matrix_.step(pass, state_.data());
            mu = next;
            begin_reading(iteration);
            // The host reads the previous iteration while the device computes this one.
            if (iteration > 1 &&
                look(iteration - 1, black, loaded.square, watch, observe, outcome, asked_to_end)) {
                break;
            }
            if (pass.last) {
                look(iteration, black, loaded.square, watch, {}, outcome, asked_to_end);
                break;
            }
        }
        executor_.synchronize();
        return outcome;
    }

  private:
    struct Reading {
        core::Array<RunState, 1> state;
        core::Mark mark;
    };

    /// Sets the initial state, W = M and its Gram matrix.
    void begin() {
        begun_state_.data()[0] = RunState{};
        core::copy<RunState, 1, core::Strided>(executor_, std::as_const(begun_state_).view(),
                                               state_.view());
        matrix_.set_factor(nullptr, nullptr, state_.data());
        Pass<T, Space> pass;
        pass.threshold = pass.mask_threshold = std::numeric_limits<T>::infinity();
        matrix_.step(pass, state_.data());
        spectrum_.begin();
    }

    /// Of M minus its temporal mean.
    double norm2() {
        const double square = spectrum_.largest_eigenvalue(matrix_.gram(), state_.data());
        return std::sqrt(square);
    }

    void begin_reading(int iteration) {
        Reading& reading = readings_[iteration % 2];
        core::copy<RunState, 1, core::Strided>(executor_, std::as_const(state_).view(),
                                               reading.state.view());
        reading.mark.set(executor_);
    }

    /// Returns whether the run has ended, after `iteration` or earlier.
    bool look(int iteration, bool black, double square, const core::Stopwatch& watch,
              const std::function<bool(const Progress&)>& observe, Outcome& outcome,
              bool& asked_to_end) {
        Reading& reading = readings_[iteration % 2];
        reading.mark.wait();
        const RunState& state = reading.state.data()[0];
        const double size = static_cast<double>(frames_) * static_cast<double>(values_);
        outcome.iterations = state.iterations;
        outcome.residual = black ? 0 : std::sqrt(state.sums.residual_square / square);
        outcome.rank = black ? 0 : state.rank + 1;
        outcome.density = 1 - state.sums.zeros / size;
        outcome.converged = state.converged != 0;
        if (state.mask_iterations > 0 && outcome.iterations_to_mask == 0) {
            outcome.iterations_to_mask = state.mask_iterations;
            outcome.seconds_to_mask = watch.seconds();
        }
        if (state.done != 0) return true;
        if (observe && !asked_to_end &&
            !observe({outcome.iterations, outcome.residual, outcome.rank})) {
            asked_to_end = true;
        }
        return false;
    }

    Executor& executor_;
    index_t frames_;
    index_t values_;
    Parameters parameters_;
    SweptMatrix<T, Executor, Qr> matrix_;
    Spectrum<T, Executor, Eigenvectors> spectrum_;
    core::Array<RunState, 1, Space> state_;
    core::Array<RunState, 1> begun_state_;
    Reading readings_[2];
};

/// RobustPca on a device.
template <class T, class Executor, class Eigenvectors, class Qr>
class DeviceRobustPca {
    using Space = typename Executor::Space;

  public:
    DeviceRobustPca(Executor& executor, index_t frames, index_t values,
                    const Parameters& parameters)
        : frames_(frames), values_(values) {
        expects_device_problem(frames, values, parameters);
        if (parameters.solver == Solver::accaltproj) {
            projections_.emplace(executor, frames, values, parameters);
        } else {
            multipliers_.emplace(executor, frames, values, parameters);
        }
    }

    Outcome run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                FramesView<T, Space> sparse, const std::function<bool(const Progress&)>& observe) {
        expects_frames(frames_, values_, m, low_rank, sparse);
        return projections_ ? projections_->run(m, low_rank, sparse, observe)
                            : multipliers_->run(m, low_rank, sparse, observe);
    }

  private:
    index_t frames_;
    index_t values_;
    std::optional<DeviceMultipliers<T, Executor, Eigenvectors, Qr>> multipliers_;
    std::optional<AlternatingProjections<T, ProjectedMatrix<T, Executor>>> projections_;
};

}  // namespace aperture::rpca::gpu

#endif
