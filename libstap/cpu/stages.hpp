// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/stages.hpp"
#include "libstap/cpu/snapshots.hpp"

/// The stages with their own workspace: repeated calls allocate nothing.
namespace aperture::stap::cpu {

/// Throws unless the problem trains on blocks.
void check_block_training(const Problem& problem);

/// Views dense matrices [k][b][row][column] as a libdense batch [k b][row][column].
template <class T>
dense::MatrixBatch<T, core::Host, core::Concatenated> as_batch(
    const core::View<T, 4, core::Host>& matrices) {
    const auto [bins, sets, rows, columns] = matrices.extent;
    return {matrices.data, {bins * sets, rows, columns}};
}

/// Number of Doppler bins with `bytes_per_bin` each that fit in a few MiB, at least one.
index_t bins_per_chunk(const Problem& problem, index_t bytes_per_bin);

/// estimate_covariance for one problem.
template <class Real>
class CovarianceEstimator {
  public:
    using Complex = std::complex<Real>;

    CovarianceEstimator(core::Cpu& cpu, const Problem& problem);
    void run(const CubeView<core::Host>& cube, core::View<Complex, 4, core::Host> covariance);

  private:
    core::Cpu& cpu_;
    Problem problem_;
    core::Array<Complex, 4> snapshots_;  ///< [chunk of k][b][n][N_R]
};

/// solve_weights for one problem.
template <class Real>
class WeightSolver {
  public:
    using Complex = std::complex<Real>;

    WeightSolver(core::Cpu& cpu, const Problem& problem);
    void run(core::View<const Complex, 4, core::Host> covariance,
             core::View<const cfloat, 2, core::Host> steering,
             core::View<Complex, 4, core::Host> weights, core::View<int, 2, core::Host> info,
             core::View<float, 2, core::Host> pivot_ratio);

  private:
    core::Cpu& cpu_;
    Problem problem_;
    core::Array<int, 1> info_;
    core::Array<Real, 1> pivot_ratio_;
};

}  // namespace aperture::stap::cpu
