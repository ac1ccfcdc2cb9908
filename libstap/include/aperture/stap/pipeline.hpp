// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/stages.hpp"

namespace aperture::stap {

/// Where a run puts its results. `output`, `info` and `pivot_ratio` must be given, `attempt` with
/// Precision::automatic, and `statistic` where the problem has a detector; `covariance` and
/// `weights` are written where their view is not empty. The last stride of a view is 1 (that of
/// `info`, `pivot_ratio` and `attempt` is free).
template <class Space>
struct Results {
    core::View<cfloat, 3, Space> output;  ///< [D][K][N], y of apply_weights
    /// [K][B]: 0; i >= 1: the leading minor of order i is not positive, rows counted as the
    /// implementation eliminates them (fused on a GPU may take those first that neighbouring bins
    /// share); -1-r: the covariance is positive definite but not, to rounding, after removing cell
    /// r (the first such cell, see stays_definite). Outputs and statistics that depend on a failed
    /// factorisation are zero.
    core::View<int, 2, Space> info;
    core::View<float, 2, Space> pivot_ratio;  ///< [K][B], see dense::solve
    core::View<cfloat, 4, Space> covariance;  ///< [K][B][n][n] with loading
    core::View<cfloat, 4, Space> weights;     ///< [K][B][D][n], not scaled by gamma; not for `all`
    core::View<float, 3, Space> statistic;    ///< [D][K][N], see Pipeline
    /// [K][B] with Precision::automatic: which attempt the other results are of (see attempts.hpp).
    /// On a Gpu a matrix is repeated with those of its block, and not with Training::all.
    core::View<int, 2, Space> attempt{};
};

/// The whole of STAP on a cube that lies in the executor's memory: Doppler processing where the
/// cube holds pulses, then training, weights, weighting and the detection statistic as the
/// problem's parameters say. Holds all workspace: a second run allocates nothing. With
/// Implementation::fused no array of snapshot size exists.
///
/// Statistics, with M the sum (not the mean) over the training cells without the cell under test
/// and its guard cells, plus loading, J cells: a = v^H M^-1 v, b = v^H M^-1 x, c = x^H M^-1 x; AMF
/// = J |b|^2 / a, ACE = |b|^2 / (a c), GLRT = |b|^2 / (a (1 + c)); CFAR = |y|^2 over the mean of
/// its reference cells. With block training the cell under test is removed from M exactly, by the
/// rank-one down-date a + |b|^2/(1-c), b/(1-c), c/(1-c).
template <class Executor>
class Pipeline {
  public:
    using Space = typename Executor::Space;

    /// `steering` is [D][n] in host memory, copied. Throws core::InvalidArgument where the problem
    /// cannot be done on this executor (cublas on the CPU), core::DeviceError for want of memory.
    Pipeline(Executor& executor, const Problem& problem,
             core::View<const cfloat, 2, core::Host> steering);
    ~Pipeline();
    Pipeline(Pipeline&&) noexcept;
    Pipeline& operator=(Pipeline&&) noexcept;

    /// `cube` has the extents of the problem's shape, last stride 1. Stages are recorded in
    /// `timeline` where it is not null: doppler, then adaptive (fused) or covariance, weights,
    /// weighting (staged, cublas), then detect. Asynchronous on a Gpu.
    void run(CubeView<Space> cube, const Results<Space>& results, core::Timeline* timeline);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

#if APERTURE_CUDA
/// Runs a cube that lies in host memory through a GPU with at most `device_bytes` of device memory
/// (0 = what is free): in range chunks, copies overlapped with computation, the same bits as in one
/// piece. Results are host views. Synchronous. `timeline` gets the stages of Pipeline::run, summed
/// over the pieces; two pieces share the device, so that the sums may exceed the time of the call.
void run_streamed(core::Gpu& gpu, const Problem& problem, CubeView<core::Host> cube,
                  core::View<const cfloat, 2, core::Host> steering,
                  const Results<core::Host>& results, std::size_t device_bytes,
                  core::Timeline* timeline);
#endif

}  // namespace aperture::stap
