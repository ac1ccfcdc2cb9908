// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adaptive processing of a Doppler cube, or of a range chunk of it, in every implementation that
// our own kernels make up, on either executor.

#include "libstap/gpu/adaptive_launch.cuh"

namespace aperture::stap::gpu {

/// Range cells that sums over all cells take at a time: chunks of a cube begin at multiples.
inline constexpr int total_tile = 64;

/// Adds the cells [begin, end) of the cube in memory to the sums over all cells, or starts them.
template <class Real, class Executor>
void add_to_total(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  const Problem& problem, CubeView<typename Executor::Space> cube, bool keep) {
    const index_t packed = triangle_elements(problem.order, false);
    auto* total =
        detail::matrices_in<Complex<Real>>(workspace.total, problem.doppler_bins, 1, 1, packed)
            .data;
    const TrainingPlan plan{TrainingCells::total, 0, 0, cube.extent[2], 0, 0, 0};
    SharedNeeds needs = detail::cube_needs(problem, plan, generic_tuning.bins, sizeof(Real));
    needs.cells = total_tile;
    detail::with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        constexpr int t = decltype(taps)::value;
        TotalArguments<Real> arguments{};
        arguments.cube = detail::doppler_cube(cube);
        arguments.columns = cube.extent[2];
        arguments.keep = keep;
        arguments.total = total;
        arguments.layout = detail::shared_layout(executor, needs, generic_tuning.blocks);
        arguments.splits = detail::splits_of<t, generic_tuning.bins>(
            problem, arguments.layout.columns, generic_tuning.threads);
        core::launch(executor, &total_kernel<Real, GenericPolicy<t>>,
                     detail::generic_config(problem, 1, arguments.layout), arguments);
    });
}

namespace detail {

/// Steering vectors in work space, row by row.
template <class Space>
SteeringVectors steering_vectors(const core::Array<cfloat, 2, Space>& rows) {
    SteeringVectors vectors{};
    vectors.data = core::device_cast(rows.data());
    vectors.row_stride = static_cast<int>(rows.extent()[1]);
    vectors.count = vectors.row_stride;
    return vectors;
}

/// Arguments that every adaptive launch of a chunk has in common.
template <class Real, class Executor>
AdaptiveArguments<Real> common_arguments(AdaptiveWorkspace<Executor>& workspace,
                                         const Problem& problem,
                                         CubeView<typename Executor::Space> cube,
                                         const TrainingPlan& plan, index_t sets) {
    AdaptiveArguments<Real> arguments{};
    arguments.cube = doppler_cube(cube);
    arguments.plan = plan;
    arguments.sets = sets;
    arguments.loading = {problem.parameters.loading.value, problem.parameters.loading.relative};
    arguments.steering = steering_vectors(workspace.steering);
    return arguments;
}

template <class Real, class Executor>
const Complex<Real>* total_of(const AdaptiveWorkspace<Executor>& workspace,
                              const Problem& problem) {
    if (problem.parameters.training != Training::all) return nullptr;
    return reinterpret_cast<const Complex<Real>*>(workspace.total.data());
}

template <class Real, class Executor>
void launch_for_taps(Executor& executor, const Problem& problem,
                     const AdaptiveArguments<Real>& arguments, bool statistic) {
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        launch_adaptive<Real>(executor, problem, arguments, statistic, taps);
    });
}

inline bool has_forms(Detector detector) {
    return detector == Detector::amf || detector == Detector::ace || detector == Detector::glrt;
}

/// Where the info of a launch goes: per set, or per cell before it is combined.
template <class Executor>
PerSet<int> info_of(AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                    const RangeChunk& chunk, const Results<typename Executor::Space>& results) {
    if (problem.parameters.training != Training::all) return per_set(results.info);
    workspace.cell_info.reshape({problem.doppler_bins, chunk.end - chunk.begin});
    return per_set(workspace.cell_info.view());
}

}  // namespace detail

/// Covariance, info and pivot ratio of the sums over all cells.
template <class Real, class Executor>
void judge_total(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                 CubeView<typename Executor::Space> cube,
                 const Results<typename Executor::Space>& results) {
    TrainingPlan plan = detail::training_plan(problem, {});
    plan.kind = TrainingCells::total;
    auto arguments = detail::common_arguments<Real>(workspace, problem, cube, plan, 1);
    arguments.total = detail::total_of<Real>(workspace, problem);
    arguments.info = detail::per_set(results.info);
    arguments.pivot_ratio = detail::per_set(results.pivot_ratio);
    if (!results.covariance.empty()) arguments.covariance = detail::matrices(results.covariance);
    detail::launch_for_taps(executor, problem, arguments, false);
}

/// Outputs, and statistics where `statistic` says so, by the one-kernel pipeline.
template <class Real, class Executor>
void run_fused(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
               CubeView<typename Executor::Space> cube, const RangeChunk& chunk,
               const Results<typename Executor::Space>& results, bool statistic) {
    auto arguments = detail::common_arguments<Real>(workspace, problem, cube,
                                                    detail::training_plan(problem, chunk),
                                                    detail::sets_of(problem, chunk));
    arguments.total = detail::total_of<Real>(workspace, problem);
    arguments.detector = problem.parameters.detector;
    arguments.info = detail::info_of(workspace, problem, chunk, results);
    if (!results.output.empty()) arguments.output = detail::range_rows(results.output);
    if (statistic) arguments.statistic = detail::range_rows(results.statistic);
    if (arguments.plan.kind != TrainingCells::all) {
        arguments.pivot_ratio = detail::per_set(results.pivot_ratio);
        if (!results.covariance.empty())
            arguments.covariance = detail::matrices(results.covariance);
        if (!results.weights.empty()) arguments.weights = detail::matrices(results.weights);
    }
    detail::launch_for_taps(executor, problem, arguments, statistic);
}

/// Gives a bin the info of its cells; Training::all.
template <class Executor>
void combine_info(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  const Problem& problem, const RangeChunk& chunk,
                  const Results<typename Executor::Space>& results) {
    const auto cells = detail::per_set(workspace.cell_info.view());
    core::launch(executor, &combine_info_kernel<core::warp_size>,
                 core::LaunchConfig(static_cast<unsigned>(problem.doppler_bins), core::warp_size),
                 PerSet<const int>{cells.data, cells.bin_stride, cells.set_stride},
                 chunk.end - chunk.begin, chunk.begin, detail::per_set(results.info));
}

/// Cell averaging over the output's cells [window.begin, window.end), of which `chunk` get a
/// statistic; `output` begins at cell chunk.data_begin.
template <class Executor>
void run_cfar(Executor& executor, const Problem& problem, const RangeChunk& chunk,
              core::View<const cfloat, 3, typename Executor::Space> output,
              core::View<float, 3, typename Executor::Space> statistic) {
    CfarArguments arguments{};
    const auto y = detail::range_rows(output);
    arguments.output = y.data;
    arguments.output_vector_stride = y.vector_stride;
    arguments.output_bin_stride = y.bin_stride;
    const auto s = detail::range_rows(statistic);
    arguments.statistic = s.data;
    arguments.statistic_vector_stride = s.vector_stride;
    arguments.statistic_bin_stride = s.bin_stride;
    arguments.plan = detail::training_plan(problem, chunk);
    arguments.cells = chunk.end - chunk.begin;
    arguments.vectors = problem.steering_vectors;
    arguments.bins = problem.doppler_bins;
    const index_t tiles = (arguments.cells + cfar_threads - 1) / cfar_threads;
    const index_t rows = index_t(arguments.vectors) * arguments.bins;
    core::launch(executor, &cfar_kernel<cfar_threads>,
                 core::LaunchConfig(detail::grid_of(rows * tiles), cfar_threads), arguments);
}

namespace detail {

/// Sets that the staged kernels take at a time where the sets overlap: one for each cell.
inline index_t sets_at_a_time(const Problem& problem, index_t sets, int real_bytes) {
    if (problem.parameters.training == Training::block) return sets;
    constexpr index_t most_bytes = index_t(256) << 20;
    const index_t set_bytes =
        index_t(problem.doppler_bins) * problem.order * problem.order * 2 * real_bytes;
    return std::clamp<index_t>(most_bytes / set_bytes, 1, sets);
}

template <class Real, class Executor, class Source>
void launch_covariance(Executor& executor, const Problem& problem, const TrainingPlan& plan,
                       const Source& source, index_t sets, const Complex<Real>* total,
                       const MatrixPerSet<Complex<Real>>& covariance) {
    CovarianceArguments<Real, Source> arguments{};
    arguments.source = source;
    arguments.plan = plan;
    arguments.sets = sets;
    arguments.loading = {problem.parameters.loading.value, problem.parameters.loading.relative};
    arguments.total = total;
    arguments.covariance = covariance;
    arguments.layout =
        shared_layout(executor, cube_needs(problem, plan, generic_tuning.bins, sizeof(Real)),
                      generic_tuning.blocks);
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        constexpr int t = decltype(taps)::value;
        arguments.splits = splits_of<t, generic_tuning.bins>(problem, arguments.layout.columns,
                                                             generic_tuning.threads);
        core::launch(executor, &covariance_kernel<Real, GenericPolicy<t>, Source>,
                     generic_config(problem, sets, arguments.layout), arguments);
    });
}

template <class Real, class Executor>
void launch_weights(Executor& executor, const Problem& problem, index_t sets,
                    const SteeringVectors& steering,
                    const MatrixPerSet<const Complex<Real>>& covariance,
                    const MatrixPerSet<Complex<Real>>& weights, const PerSet<int>& info,
                    const PerSet<float>& pivot_ratio) {
    WeightsArguments<Real> arguments{};
    arguments.covariance = covariance;
    arguments.sets = sets;
    arguments.bins = problem.doppler_bins;
    arguments.order = problem.order;
    arguments.steering = steering;
    arguments.weights = weights;
    arguments.info = info;
    arguments.pivot_ratio = pivot_ratio;
    SharedNeeds needs;
    needs.bins = generic_tuning.bins;
    needs.order = problem.order;
    needs.square = problem.parameters.solver == dense::Factorisation::gauss_jordan;
    needs.block_solver = true;
    needs.real_bytes = sizeof(Real);
    arguments.layout = shared_layout(executor, needs, generic_tuning.blocks);
    with_solver(problem.parameters.solver, [&](auto elimination) {
        using Solver = BlockSolver<Real, decltype(elimination)::value>;
        core::launch(executor,
                     &weights_kernel<Real, Solver, generic_tuning.bins, generic_tuning.threads>,
                     generic_config(problem, sets, arguments.layout), arguments);
    });
}

template <class Real, class Executor, class Source>
void launch_weighting(Executor& executor, const Problem& problem, const TrainingPlan& plan,
                      const Source& source, index_t sets, const SteeringVectors& steering,
                      const MatrixPerSet<const Complex<Real>>& weights,
                      const RangeRows<Complex<float>>& output) {
    WeightingArguments<Real, Source> arguments{};
    arguments.source = source;
    arguments.plan = plan;
    arguments.sets = sets;
    arguments.steering = steering;
    arguments.weights = weights;
    arguments.output = output;
    SharedNeeds needs = cube_needs(problem, plan, generic_tuning.bins, sizeof(float));
    needs.triangles = false;
    needs.vectors = steering.count;
    arguments.layout = shared_layout(executor, needs, generic_tuning.blocks);
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        constexpr int t = decltype(taps)::value;
        core::launch(executor, &weighting_kernel<Real, GenericPolicy<t>, Source>,
                     generic_config(problem, sets, arguments.layout), arguments);
    });
}

template <class Real, class Executor>
void round_matrices(Executor& executor, const Problem& problem, index_t sets,
                    const MatrixPerSet<const Complex<Real>>& from,
                    core::View<cfloat, 4, typename Executor::Space> to, index_t first_set) {
    if (to.empty()) return;
    const auto part = to.slice(1, first_set, first_set + sets);
    constexpr int threads = 128;
    const index_t entries = problem.doppler_bins * sets * to.extent[2] * to.extent[3];
    core::launch(executor, &round_matrices_kernel<Real>,
                 core::LaunchConfig(grid_of((entries + threads - 1) / threads), threads), from,
                 matrices(part), index_t(problem.doppler_bins), sets,
                 static_cast<int>(to.extent[2]), static_cast<int>(to.extent[3]));
}

template <class Executor>
SnapshotArray extract(Executor& executor, const Problem& problem, const DopplerCube& cube,
                      const TrainingPlan& plan, index_t sets,
                      core::View<cfloat, 4, typename Executor::Space> snapshots) {
    const int taps = problem.parameters.temporal_taps;
    const SnapshotArray array{core::device_cast(snapshots.data),
                              snapshots.stride[0],
                              snapshots.stride[1],
                              snapshots.stride[2],
                              cube.channels,
                              cube.doppler_bins,
                              taps};
    core::launch(executor, &extract_snapshots_kernel<extraction_threads>,
                 core::LaunchConfig(grid_of(problem.doppler_bins * sets), extraction_threads), cube,
                 plan, sets, array);
    return array;
}

/// The stages of `sets` training sets from `first_set` of the chunk on, from `source`.
template <class Real, class Executor, class Source>
void run_stages(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                const Source& source, TrainingPlan plan, index_t first_set, index_t sets,
                const PerSet<int>& info, const Results<typename Executor::Space>& results,
                core::Timeline* timeline) {
    const index_t n = problem.order;
    const int vectors = problem.steering_vectors;
    const bool all = plan.kind == TrainingCells::all;
    plan.set_begin += first_set;
    const auto covariance =
        matrices_in<Complex<Real>>(workspace.covariance, problem.doppler_bins, sets, n, n);
    const auto weights =
        matrices_in<Complex<Real>>(workspace.weights, problem.doppler_bins, sets, vectors, n);
    const SteeringVectors steering = steering_vectors(workspace.steering);
    {
        const auto scope = stage_scope(executor, timeline, "covariance", covariance_work(problem));
        launch_covariance<Real>(executor, problem, plan, source, sets,
                                total_of<Real>(workspace, problem), covariance);
        if (!all) {
            round_matrices<Real>(executor, problem, sets, constant(covariance), results.covariance,
                                 first_set);
        }
    }
    {
        const auto scope = stage_scope(executor, timeline, "weights", weights_work(problem));
        PerSet<int> part = info;
        part.data += first_set * info.set_stride;
        PerSet<float> ratio{};
        if (!all) {
            ratio = per_set(results.pivot_ratio);
            ratio.data += first_set * ratio.set_stride;
        }
        launch_weights<Real>(executor, problem, sets, steering, constant(covariance), weights, part,
                             ratio);
        if (!all) {
            round_matrices<Real>(executor, problem, sets, constant(weights), results.weights,
                                 first_set);
        }
    }
    const auto scope = stage_scope(executor, timeline, "weighting", weighting_work(problem));
    launch_weighting<Real>(executor, problem, plan, source, sets, steering, constant(weights),
                           range_rows(results.output));
}

}  // namespace detail

/// A kernel per stage. Snapshots are materialised for training blocks; windows overlap, and are
/// read from the cube.
template <class Real, class Executor>
void run_staged(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                CubeView<typename Executor::Space> cube, const RangeChunk& chunk,
                const Results<typename Executor::Space>& results, core::Timeline* timeline) {
    const TrainingPlan plan = detail::training_plan(problem, chunk);
    const index_t sets = detail::sets_of(problem, chunk);
    const DopplerCube source = detail::doppler_cube(cube);
    const PerSet<int> info = detail::info_of(workspace, problem, chunk, results);
    if (plan.kind == TrainingCells::block) {
        workspace.snapshots.reshape({problem.doppler_bins, sets, problem.order, plan.block});
        const SnapshotArray snapshots =
            detail::extract(executor, problem, source, plan, sets, workspace.snapshots.view());
        detail::run_stages<Real>(executor, workspace, problem, snapshots, plan, 0, sets, info,
                                 results, timeline);
        return;
    }
    const index_t step = detail::sets_at_a_time(problem, sets, sizeof(Real));
    for (index_t first = 0; first < sets; first += step) {
        detail::run_stages<Real>(executor, workspace, problem, source, plan, first,
                                 std::min(step, sets - first), info, results, timeline);
    }
}

/// The statistics of a staged run: the forms need the factor, which the stages do not keep, so that
/// the one-kernel pipeline makes them, and nothing else, from the cube.
template <class Real, class Executor>
void detect(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
            CubeView<typename Executor::Space> cube, const RangeChunk& chunk,
            const Results<typename Executor::Space>& results) {
    Results<typename Executor::Space> statistic;
    statistic.info = results.info;
    statistic.pivot_ratio = results.pivot_ratio;
    statistic.statistic = results.statistic;
    run_fused<Real>(executor, workspace, problem, cube, chunk, statistic, true);
}

/// The statistics of a staged or cublas run, and cell averaging.
template <class Executor>
void run_detectors(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                   const Problem& problem, CubeView<typename Executor::Space> cube,
                   const RangeChunk& chunk, const Results<typename Executor::Space>& results,
                   core::Timeline* timeline) {
    const Parameters& p = problem.parameters;
    if (results.statistic.empty() || p.detector == Detector::none) return;
    const bool forms = detail::has_forms(p.detector);
    if (forms && p.implementation == Implementation::fused) return;
    const auto scope = stage_scope(executor, timeline, "detect", {});
    if (!forms) {
        run_cfar<Executor>(executor, problem, chunk, results.output, results.statistic);
        return;
    }
    detail::with_real(p.precision, [&](auto real) {
        detect<decltype(real)>(executor, workspace, problem, cube, chunk, results);
    });
}

/// Adaptive processing of the cells of a chunk, without cell averaging. With Training::all the sums
/// over all cells must be there (add_to_total). Implementation::cublas is not handled here.
template <class Executor>
void run_adaptive(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  const Problem& problem, CubeView<typename Executor::Space> cube,
                  const RangeChunk& chunk, const Results<typename Executor::Space>& results,
                  core::Timeline* timeline) {
    const Parameters& p = problem.parameters;
    const bool fused = p.implementation == Implementation::fused;
    const bool all = p.training == Training::all;
    detail::with_real(p.precision, [&](auto real) {
        using Real = decltype(real);
        if (all) judge_total<Real>(executor, workspace, problem, cube, results);
        if (fused) {
            const auto scope = stage_scope(executor, timeline, "adaptive", adaptive_work(problem));
            const bool statistic = detail::has_forms(p.detector) && !results.statistic.empty();
            run_fused<Real>(executor, workspace, problem, cube, chunk, results, statistic);
        } else {
            run_staged<Real>(executor, workspace, problem, cube, chunk, results, timeline);
        }
    });
    if (all) combine_info(executor, workspace, problem, chunk, results);
}

/// Everything behind Doppler processing, for a whole Doppler cube in memory.
template <class Executor>
void adapt_cube(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                CubeView<typename Executor::Space> cube,
                const Results<typename Executor::Space>& results, core::Timeline* timeline) {
    if (problem.parameters.training == Training::all) {
        detail::with_real(problem.parameters.precision, [&](auto real) {
            add_to_total<decltype(real)>(executor, workspace, problem, cube, false);
        });
    }
    const RangeChunk chunk{0, 0, problem.shape.range_cells};
    run_adaptive(executor, workspace, problem, cube, chunk, results, timeline);
    run_detectors(executor, workspace, problem, cube, chunk, results, timeline);
}

}  // namespace aperture::stap::gpu
