// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Singular values and vectors of W minus its temporal mean from W's Gram matrix, updated from one
// iteration to the next. Host code, a template on the executor and on the eigensolver for matrices
// too large for jacobi_kernel.

#include <optional>

#include "libcore/gpu/locked_pages.hpp"
#include "librpca/gpu/jacobi.cuh"
#include "librpca/gpu/swept_matrix.cuh"

namespace aperture::rpca::gpu {

/// Eigenvectors has a constructor (executor, order), operator()(double* matrix, double*
/// eigenvalues), which replaces a symmetric matrix by its eigenvectors, vector after vector, and
/// failure(): an int of the device, 0 if they converged. T: type of W.
template <class T, class Executor, class Eigenvectors>
class Spectrum {
    using Space = typename Executor::Space;
    template <class U>
    using Buffer = core::Array<U, 1, Space>;

  public:
    Spectrum(Executor& executor, index_t frames)
        : Spectrum(executor, frames, in_one_block(executor, static_cast<int>(frames))) {}
    Spectrum(Executor& executor, index_t frames, bool by_rotations)
        : executor_(executor),
          order_(static_cast<int>(frames)),
          matrix_({frames * frames}),
          function_({frames * frames}),
          extent_({2}),
          extent_on_host_({2}, core::locked_pages<Space>()) {
        if (by_rotations) {
            rotations_ = Buffer<LoggedRotation>({most_steps(order_) * jacobi_pairs(order_)});
            steps_ = Buffer<int>({most_steps(order_) + 1});
            step_count_ = Buffer<int>({1});
            vectors_ = Buffer<double>({frames * frames});
            transposed_ = Buffer<double>({frames * frames});
        } else {
            eigenvectors_.emplace(executor, order_);
            eigenvalues_ = Buffer<double>({frames});
            row_means_ = Buffer<double>({frames});
        }
    }

    static WorkspaceBytes bytes(Executor& executor, index_t frames) {
        const auto order = static_cast<int>(frames);
        const bool by_rotations = in_one_block(executor, order);
        const index_t square = frames * frames;
        const index_t of_vectors =
            by_rotations ? bytes_of<LoggedRotation>(most_steps(order) * jacobi_pairs(order)) +
                               bytes_of<int>(most_steps(order) + 2) + bytes_of<double>(2 * square)
                         : Eigenvectors::bytes(executor, order) + bytes_of<double>(2 * frames);
        return {bytes_of<double>(2), of_vectors + bytes_of<double>(2 * square + 2)};
    }

    static bool in_one_block(const Executor& executor, int order) {
        return JacobiMemory<T>::bytes(order) <= executor.shared_memory_per_block() &&
               jacobi_tiles(order) <= most_tiles * most_jacobi_threads;
    }

    /// Resets the basis, so that a run does not depend on earlier runs.
    void begin() {
        if (eigenvectors_) return;
        core::launch(executor_, &first_vectors_kernel,
                     core::LaunchConfig(dim3(core::blocks_for(order_ * order_, product_threads)),
                                        dim3(product_threads)),
                     vectors_.data(), transposed_.data(), order_);
    }

    /// Computes, in a basis, f(scale W^T W) with f(x) = max(1 - 1 / sqrt(x), 0) for W without its
    /// temporal mean, and sets the rank. `gram` may include the mean. scale = 0 selects a scale
    /// (100 / trace) for which only the largest eigenvalue is sure to be accurate.
    void find(const double* gram, double scale, RunState* state) {
        const ScaledGramArguments scaled{gram,  vectors_.data(),    row_means_.data(), order_,
                                         scale, extent_.data() + 1, matrix_.data(),    state};
        if (eigenvectors_) {
            const core::LaunchConfig rows(dim3(core::blocks_for(order_, product_warps)),
                                          dim3(product_threads));
            core::launch(executor_, &row_means_kernel, rows, scaled);
            core::launch(executor_, &scaled_gram_kernel, rows, scaled);
            (*eigenvectors_)(matrix_.data(), eigenvalues_.data());
            core::launch(executor_, &diagonal_function_kernel,
                         core::LaunchConfig(
                             dim3(core::blocks_for(index_t{order_} * order_, function_threads)),
                             dim3(function_threads)),
                         eigenvalues_.data(), order_, function_.data(), extent_.data(),
                         eigenvectors_->failure(), state);
            return;
        }
        core::launch(executor_, &gram_in_basis_kernel,
                     core::LaunchConfig(dim3(static_cast<unsigned>(order_)), dim3(product_threads),
                                        static_cast<std::size_t>(basis_shared_bytes(order_))),
                     scaled);
        rotate(state);
    }

    const double* function() const { return function_.data(); }
    /// [vector][component]
    const double* transposed_basis() const {
        return eigenvectors_ ? matrix_.data() : transposed_.data();
    }

    /// Synchronises.
    double largest_eigenvalue(const double* gram, RunState* state) {
        find(gram, 0, state);
        core::copy(executor_, std::as_const(extent_).view(), extent_on_host_.view());
        executor_.synchronize();
        return extent_on_host_(0) / extent_on_host_(1);
    }

  private:
    static constexpr int most_tiles = 6;

    /// Steps of the first sweep and of several more.
    static index_t most_steps(int order) {
        return tuning::most_jacobi_sweeps * index_t{even_order(order)};
    }

    void rotate(RunState* state) {
        const int tiles = jacobi_tiles(order_);
        const int wanted = std::max(tiles, jacobi_pairs(order_));
        const int threads = std::min(most_jacobi_threads, core::round_up(wanted, core::warp_size));
        auto* const kernel = tiles <= threads       ? &jacobi_kernel<T, 1>
                             : tiles <= 2 * threads ? &jacobi_kernel<T, 2>
                                                    : &jacobi_kernel<T, most_tiles>;
        const double square = tuning::jacobi_tolerance<T> * tuning::jacobi_tolerance<T>;
        core::launch(
            executor_, kernel,
            core::LaunchConfig(dim3(1), dim3(static_cast<unsigned>(threads)),
                               static_cast<std::size_t>(JacobiMemory<T>::bytes(order_))),
            JacobiArguments{matrix_.data(), function_.data(), order_, static_cast<float>(square),
                            static_cast<int>(most_steps(order_)), rotations_.data(), steps_.data(),
                            step_count_.data(), extent_.data(), state});
        core::launch(executor_, &rotate_vectors_kernel,
                     core::LaunchConfig(dim3(core::blocks_for(order_, vector_warps)),
                                        dim3(vector_warps * core::warp_size),
                                        static_cast<std::size_t>(vector_shared_bytes(order_))),
                     VectorArguments{rotations_.data(), steps_.data(), step_count_.data(), order_,
                                     vectors_.data(), transposed_.data(), state});
    }

    Executor& executor_;
    int order_;
    Buffer<double> matrix_;
    Buffer<double> function_;
    Buffer<double> extent_;  ///< the largest eigenvalue, scaled; the scale
    core::Array<double, 1> extent_on_host_;
    Buffer<LoggedRotation> rotations_;
    Buffer<int> steps_;
    Buffer<int> step_count_;
    Buffer<double> vectors_;
    Buffer<double> transposed_;
    std::optional<Eigenvectors> eigenvectors_;  ///< if a block cannot hold the matrix
    Buffer<double> eigenvalues_;
    Buffer<double> row_means_;
};

}  // namespace aperture::rpca::gpu
