// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arguments of adaptive processing, and what its launches derive from them.

#include <algorithm>

#include "aperture/stap/pipeline.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/stage.cuh"
#include "libstap/gpu/fused.cuh"
#include "libstap/gpu/range_pieces.hpp"
#include "libstap/gpu/staged.cuh"

namespace aperture::stap::gpu {

/// Workspace of a problem in the executor's memory, besides cube and results.
template <class Executor>
struct AdaptiveWorkspace {
    using Space = typename Executor::Space;
    core::Array<cfloat, 2, Space> steering;  ///< [n][D]
    core::Array<double, 1, Space> total;     ///< sums over all cells, packed triangles
    core::Array<int, 2, Space> cell_info;    ///< [K][cell]
    core::Array<cfloat, 4, Space> snapshots;
    core::Array<double, 1, Space> covariance;
    core::Array<double, 1, Space> weights;
};

/// Copies dense arrays between host and executor. Asynchronous on a Gpu.
#if defined(__CUDACC__)
template <class T, int Rank, class From, class To>
void transfer(core::Gpu& gpu, const core::View<T, Rank, From>& from,
              const core::View<T, Rank, To>& to) {
    core::copy<T, Rank, core::Strided>(gpu, from, to);
}
#else
template <class T, int Rank>
void transfer(core::Simt&, const core::View<T, Rank, core::Host>& from,
              const core::View<T, Rank, core::Host>& to) {
    std::copy(from.data, from.data + from.size(), to.data);
}
#endif

/// Copies the steering vectors [D][n] to [n][D]; synchronous.
template <class Executor>
void set_steering(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  core::View<const cfloat, 2, core::Host> steering) {
    core::Array<cfloat, 2> rows({steering.extent[1], steering.extent[0]});
    for (index_t d = 0; d < steering.extent[0]; ++d) {
        for (index_t i = 0; i < steering.extent[1]; ++i) rows(i, d) = steering(d, i);
    }
    workspace.steering.reshape(rows.extent());
    transfer(executor, rows.view(), workspace.steering.view());
    executor.synchronize();
}

/// Adaptive processing of a piece of a Doppler cube. `cube` holds the cells `piece.data`. Views of
/// results begin at cell piece.adapted.begin and at the training set that holds it, but the
/// statistic of Detector::cfar begins at piece.wanted.begin.
template <class Executor>
struct AdaptiveRun {
    using Space = typename Executor::Space;

    Executor& executor;
    AdaptiveWorkspace<Executor>& workspace;
    const Problem& problem;
    RangePiece piece;
    CubeView<Space> cube;
    Results<Space> results;
    core::Timeline* timeline;
    bool has_total = false;  ///< whether the sums over all cells are complete (add_to_total)

    bool trains_on_all() const { return problem.parameters.training == Training::all; }
    /// Matrices of a Doppler bin.
    index_t sets() const { return training_sets_of(problem, piece.adapted).cells(); }
    auto stage(const char* name, const Work& work) const {
        return core::stage_scope(executor, timeline, name, work.gflop, work.mb);
    }
    /// `whole` is the work of all cells.
    auto stage(const char* name, const Work& whole, index_t cells) const {
        const double share = double(cells) / double(problem.shape.range_cells);
        return stage(name, {whole.gflop * share, whole.mb * share});
    }
};

namespace detail {

inline TrainingPlan training_plan(const Problem& problem, const RangePiece& piece) {
    const Parameters& p = problem.parameters;
    const index_t first = piece.adapted.begin;
    TrainingPlan plan{TrainingCells::block,
                      p.training_block,
                      p.guard,
                      problem.shape.range_cells,
                      piece.data.begin,
                      first,
                      first};
    if (p.training == Training::sliding) plan.kind = TrainingCells::sliding;
    if (p.training == Training::all) plan.kind = TrainingCells::all;
    if (p.training == Training::block) plan.set_begin = first / p.training_block;
    return plan;
}

template <class Space>
DopplerCube doppler_cube(CubeView<Space> cube) {
    core::expects(cube.stride[2] == 1,
                  "range cells of the cube must be contiguous; their stride is ", cube.stride[2]);
    return {core::kernel_view(cube), static_cast<int>(cube.extent[0]),
            static_cast<int>(cube.extent[1])};
}

/// Steering vectors in workspace, [n][D].
template <class Space>
SteeringVectors steering_vectors(const core::Array<cfloat, 2, Space>& rows) {
    return {core::device_cast(rows.data()), static_cast<int>(rows.extent()[1])};
}

/// Results [vector][Doppler bin][range cell] for kernels; their range cells must be contiguous.
template <class T, class Space>
auto range_rows(const core::View<T, 3, Space>& view) {
    core::expects(view.empty() || view.stride[2] == 1,
                  "range cells of the results must be contiguous; their stride is ",
                  view.stride[2]);
    return core::kernel_view(view);
}

/// Dense matrices [k][set][rows][columns] in workspace, which grows if necessary.
template <class T, class Space>
KernelView<T, 4> matrices_in(core::Array<double, 1, Space>& space, index_t bins, index_t sets,
                             index_t rows, index_t columns) {
    const index_t elements = bins * sets * rows * columns;
    space.reshape({elements * static_cast<index_t>(sizeof(T) / sizeof(double))});
    return {reinterpret_cast<T*>(space.data()), {bins, sets, rows, columns}};
}

/// The sums over all cells, if the covariances come from them.
template <class Real, class Executor>
const Complex<Real>* total_of(const AdaptiveRun<Executor>& run) {
    return run.trains_on_all() ? reinterpret_cast<const Complex<Real>*>(run.workspace.total.data())
                               : nullptr;
}

/// The attempts of the sums over all cells, for every cell; null if there are none.
template <class Executor>
KernelView<int, 2> attempt_of_all(const AdaptiveRun<Executor>& run) {
    if (!run.trains_on_all() || run.problem.parameters.precision != Precision::automatic) return {};
    auto of_cells = core::kernel_view(run.results.attempt);
    of_cells.extent[1] = run.problem.shape.range_cells;
    of_cells.stride[1] = 0;
    return of_cells;
}

/// Destination of a launch's info: per set, or per cell before combine_info.
template <class Executor>
KernelView<int, 2> info_of(const AdaptiveRun<Executor>& run) {
    if (!run.trains_on_all()) return core::kernel_view(run.results.info);
    run.workspace.cell_info.reshape({run.problem.doppler_bins, run.piece.adapted.cells()});
    return core::kernel_view(run.workspace.cell_info.view());
}

/// Arguments common to all adaptive kernels.
template <class Real, class Executor>
AdaptiveArguments<Real> common_arguments(const AdaptiveRun<Executor>& run) {
    AdaptiveArguments<Real> arguments{};
    arguments.cube = doppler_cube(run.cube);
    arguments.plan = training_plan(run.problem, run.piece);
    arguments.sets = run.sets();
    arguments.loading = loading_of(run.problem, 0);
    arguments.steering = steering_vectors(run.workspace.steering);
    arguments.total = total_of<Real>(run);
    return arguments;
}

}  // namespace detail

}  // namespace aperture::stap::gpu
