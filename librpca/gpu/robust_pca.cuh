// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// RobustPca on a device. Host code, a template on the executor and on the eigensolver for matrices
// that do not fit one block's shared memory.

#include <cmath>
#include <limits>
#include <utility>

#include "libcore/gpu/locked_pages.hpp"
#include "libcore/gpu/mark.cuh"
#include "librpca/gpu/projected_matrix.cuh"
#include "librpca/gpu/spectrum.cuh"
#include "librpca/gpu/swept_matrix.cuh"
#include "librpca/selected_solver.hpp"

namespace aperture::rpca::gpu {

/// See Multipliers.
template <class T, class ItsExecutor, class Eigenvectors>
class MultiplierOperations {
  public:
    using Executor = ItsExecutor;
    using Space = typename Executor::Space;
    /// The device computes an iteration while the host reads the state after the one before.
    static constexpr int iterations_ahead = 1;
    /// More would overflow the int indices of Gram matrices.
    static constexpr index_t most_frames = 16384;

    MultiplierOperations(Executor& executor, index_t frames, index_t values,
                         const Parameters& parameters)
        : executor_(executor),
          matrix_(executor, frames, values, parameters.svd, parameters.mask_threshold > 0),
          spectrum_(executor, frames),
          state_({1}),
          begun_state_({1}, core::locked_pages<Space>()) {
        for (Reading& reading : readings_) {
            reading.state = core::Array<RunState, 1>({1}, core::locked_pages<Space>());
        }
    }

    static WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values,
                                const Parameters& parameters) {
        constexpr index_t host_states = 3;
        return SweptMatrix<T, Executor>::bytes(executor, frames, values, parameters.svd,
                                               parameters.mask_threshold > 0) +
               Spectrum<T, Executor, Eigenvectors>::bytes(executor, frames) +
               WorkspaceBytes{bytes_of<RunState>(host_states), bytes_of<RunState>(1)};
    }

    MatrixNorms load(FramesView<const T, Space> m) {
        const MatrixNorms norms = matrix_.load(m);
        begun_state_.data()[0] = RunState{};
        core::copy(executor_, std::as_const(begun_state_).view(), state_.view());
        matrix_.set_factor(nullptr, nullptr, state_.data());
        // For the Gram matrix of W = M.
        MultiplierPass<T, Space> pass;
        pass.threshold = pass.mask_threshold = std::numeric_limits<T>::infinity();
        matrix_.pass(pass, state_.data());
        spectrum_.begin();
        return norms;
    }
    double norm2() {
        return std::sqrt(spectrum_.largest_eigenvalue(matrix_.gram(), state_.data()));
    }
    void threshold_singular_values(double mu) {
        spectrum_.find(matrix_.gram(), mu * mu, state_.data());
        matrix_.set_factor(spectrum_.function(), spectrum_.transposed_basis(), state_.data());
    }
    void pass(const MultiplierPass<T, Space>& pass) {
        matrix_.pass(pass, state_.data());
        if (pass.iteration == 0) return;
        Reading& reading = readings_[pass.iteration % 2];
        core::copy(executor_, std::as_const(state_).view(), reading.state.view());
        reading.mark.set(executor_);
    }
    const RunState& state(int iteration) {
        Reading& reading = readings_[iteration % 2];
        reading.mark.wait(executor_);
        const RunState& state = reading.state.data()[0];
        if (state.failed != 0) {
            executor_.synchronize();
            throw core::DeviceError("the eigenvectors of the Gram matrix do not converge");
        }
        return state;
    }

  private:
    struct Reading {
        core::Array<RunState, 1> state;
        core::Mark mark;
    };

    Executor& executor_;
    SweptMatrix<T, Executor> matrix_;
    Spectrum<T, Executor, Eigenvectors> spectrum_;
    core::Array<RunState, 1, Space> state_;
    core::Array<RunState, 1> begun_state_;
    Reading readings_[2];
};

}  // namespace aperture::rpca::gpu
