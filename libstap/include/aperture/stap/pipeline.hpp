// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/stages.hpp"

namespace aperture::stap {

/// The results of a run. `output`, `info` and `pivot_ratio` are required, `attempt` with
/// Precision::automatic, and `statistic` if the problem has a detector; `covariance` and `weights`
/// are written unless their view is empty. The last stride of a view is 1 (arbitrary for `info`,
/// `pivot_ratio` and `attempt`).
template <class Space>
struct Results {
    core::View<cfloat, 3, Space> output;  ///< [D][K][N], y of apply_weights
    /// [K][B]: 0; i >= 1: the leading minor of order i is not positive, rows in elimination order
    /// (fused on a GPU may eliminate the rows shared by neighbouring bins first); -1-r: the
    /// covariance is positive definite, but not, to rounding, after removal of cell r (the first
    /// such cell, see stays_definite). Outputs and statistics of a failed factorisation are zero.
    core::View<int, 2, Space> info;
    core::View<float, 2, Space> pivot_ratio;  ///< [K][B], see dense::solve
    core::View<cfloat, 4, Space> covariance;  ///< [K][B][n][n] with loading
    core::View<cfloat, 4, Space> weights;     ///< [K][B][D][n], not scaled by gamma; not for `all`
    core::View<float, 3, Space> statistic;    ///< [D][K][N], see Pipeline
    /// [K][B] with Precision::automatic: the attempt that the other results come from (see
    /// attempts.hpp). On a Gpu the matrices of a kernel's block are repeated together, except with
    /// Training::all.
    core::View<int, 2, Space> attempt{};
};

/// The complete STAP pipeline on a cube in the executor's memory: Doppler processing if the cube
/// holds pulses, then training, weights, weighting and the detection statistic, according to the
/// problem's parameters. Owns all workspace: a second run allocates nothing. With
/// Implementation::fused there is no array of snapshot size.
///
/// Statistics, with M the sum (not the mean) over the training cells without the cell under test
/// and its guard cells, plus loading, J cells: a = v^H M^-1 v, b = v^H M^-1 x, c = x^H M^-1 x; AMF
/// = J |b|^2 / a, ACE = |b|^2 / (a c), GLRT = |b|^2 / (a (1 + c)); CFAR = |y|^2 over its mean in
/// the reference cells. With block training the cell under test is removed from M exactly, by the
/// rank-one down-date a + |b|^2/(1-c), b/(1-c), c/(1-c).
template <class Executor>
class Pipeline {
  public:
    using Space = typename Executor::Space;

    /// Copies `steering`, [D][n] in host memory. Throws core::InvalidArgument for steering of other
    /// extents and for a problem that this executor does not support: cublas on a Cpu, or with
    /// other than block training, or mixed; core::DeviceError if memory does not suffice.
    Pipeline(Executor& executor, const Problem& problem,
             core::View<const cfloat, 2, core::Host> steering);

    /// Changes Parameters::loading of the runs that follow. Throws core::InvalidArgument as
    /// make_problem does.
    void set_loading(const DiagonalLoading& loading);

    /// `cube` has the extents of the problem's shape, last stride 1. Throws core::InvalidArgument
    /// for views that do not fit the problem, core::UnfitDevice if a kernel needs more shared
    /// memory than the device has. Asynchronous on a Gpu, but for cublas with another output than
    /// before.
    ///
    /// A non-null `timeline` records the stages: doppler of a cube of pulses; adaptive (fused, and
    /// on a Cpu sliding and all training) or covariance, weights, weighting; detect, unless it is
    /// part of adaptive; repeat with Precision::automatic, unless training is on all cells.
    void run(CubeView<Space> cube, const Results<Space>& results, core::Timeline* timeline);

  private:
    struct State;
    core::Owned<State> state_;
};

/// Processes a cube in host memory on a GPU with at most `device_bytes` of device memory (0: all
/// that is free), in range pieces with copies overlapped with computation. Results are host views,
/// bitwise identical to those of a single run. Synchronous. `timeline` records the stages of
/// Pipeline::run, summed over the pieces; two pieces share the device, so that the sums may exceed
/// the time of the call. The bound excludes the workspace of cuFFT. Throws core::InvalidArgument
/// for cublas, for views that do not fit the problem, and for too few `device_bytes`;
/// core::UnfitDevice for 0 if too few are free. Defined in builds with CUDA.
void run_streamed(core::Gpu& gpu, const Problem& problem, CubeView<core::Host> cube,
                  core::View<const cfloat, 2, core::Host> steering,
                  const Results<core::Host>& results, std::size_t device_bytes,
                  core::Timeline* timeline);

}  // namespace aperture::stap
