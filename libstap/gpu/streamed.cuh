// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Processes cubes that do not fit the executor's memory in range pieces, with bitwise identical
// results.

#include <algorithm>
#include <memory>
#include <optional>

#include "libcore/gpu/device_budget.hpp"
#include "libcore/gpu/in_flight.hpp"
#include "libcore/gpu/mirrored_array.hpp"
#include "libstap/gpu/gpu_instances.cuh"
#include "libstap/gpu/range_pieces.hpp"

namespace aperture::stap::gpu {

/// Average device memory of a piece per range cell, in bytes.
inline double bytes_per_cell(const Problem& p, const Results<core::Host>& results) {
    const double bins = p.doppler_bins;
    const double n = p.order;
    const double real_bytes = starts_in_fp64(p) ? 8 : 4;
    const double sets_per_cell =
        p.parameters.training == Training::block ? 1.0 / p.parameters.training_block : 1.0;
    double bytes = double(p.shape.channels) * bins * 8 + p.steering_vectors * bins * 12;
    if (p.shape.domain == Domain::pulse) bytes += double(p.shape.channels * p.shape.pulses) * 8;
    double set_bytes = 12;
    if (!results.covariance.empty() && p.training_sets > 1) set_bytes += 8 * n * n;
    if (!results.weights.empty()) set_bytes += 8 * n * p.steering_vectors;
    if (p.parameters.implementation == Implementation::staged) {
        bytes += p.parameters.training == Training::block ? bins * n * 8 : 0;
        set_bytes += 2 * real_bytes * n * (n + p.steering_vectors);
    }
    return bytes + bins * set_bytes * sets_per_cell;
}

/// A piece in flight: staging memory, device memory and the executor with its stream.
template <class Executor>
class PieceInFlight {
  public:
    using Space = typename Executor::Space;

    /// `cpu` copies to and from staging memory.
    PieceInFlight(Executor& executor, core::Cpu& cpu, const Problem& problem,
                  core::View<const cfloat, 2, core::Host> steering)
        : executor_(executor), cpu_(cpu), problem_(problem) {
        set_steering(executor, workspace_, steering);
    }

    /// Adds the cells of a span to the sums over all cells; synchronous.
    void add_to_total(CubeView<core::Host> cube, RangeSpan span, core::Timeline* timeline) {
        const CubeView<Space> columns = load(cube, span, timeline);
        const AdaptiveRun<Executor> run{executor_, workspace_, problem_, {span, span, span},
                                        columns,   {},         timeline};
        detail::with_real(
            problem_, [&](auto real) { gpu::add_to_total<decltype(real)>(run, span.begin > 0); });
        executor_.synchronize();
    }

    /// Enqueues a piece's copies and kernels in the stream.
    void start(CubeView<core::Host> cube, const RangePiece& piece,
               const Results<core::Host>& results, core::Timeline* timeline) {
        piece_ = piece;
        const CubeView<Space> columns = load(cube, piece.data, timeline);
        const AdaptiveRun<Executor> run{executor_, workspace_, problem_,
                                        piece,     columns,    shape_results(results),
                                        timeline,  true};
        adapt(run);
        complete(run);
        const auto to_host = [](auto&... arrays) { (arrays.to_host(), ...); };
        to_host(output_, info_, pivot_ratio_, covariance_, weights_, statistic_, attempt_);
    }

    /// Waits for the piece in flight and copies its results to their place.
    void finish(const Results<core::Host>& results) {
        executor_.synchronize();
        const RangeSpan wanted = piece_.wanted;
        place(output_, 2, wanted.begin - piece_.adapted.begin, results.output, wanted);
        place(statistic_, 2, 0, results.statistic, wanted);
        const RangeSpan sets = sets_of(wanted);
        const index_t first = sets.begin - sets_of(piece_.adapted).begin;
        place_info(first, results.info, sets);
        place(pivot_ratio_, 1, first, results.pivot_ratio, sets);
        if (repeats()) place(attempt_, 1, first, results.attempt, sets);
        place(covariance_, 1, first, results.covariance, sets);
        place(weights_, 1, first, results.weights, sets);
    }

  private:
    bool repeats() const { return problem_.parameters.precision == Precision::automatic; }

    RangeSpan sets_of(RangeSpan cells) const {
        if (problem_.parameters.training == Training::all) return {0, 1};
        return training_sets_of(problem_, cells);
    }

    CubeView<Space> load(CubeView<core::Host> cube, RangeSpan span, core::Timeline* timeline) {
        const index_t cells = span.cells();
        input_.reshape({cube.extent[0], cube.extent[1], cells});
        core::copy_runs(cpu_, {cube.slice(2, span.begin, span.end), input_.host()});
        input_.to_device();
        if (problem_.shape.domain == Domain::doppler) return input_.device();
        return transform(cells, timeline);
    }

#if defined(__CUDACC__)
    CubeView<Space> transform(index_t cells, core::Timeline* timeline) {
        if (!doppler_ || doppler_cells_ != cells) {
            Problem part = problem_;
            part.shape.range_cells = cells;
            doppler_.emplace(executor_, part);
            doppler_cells_ = cells;
            doppler_cube_.reshape({problem_.shape.channels, problem_.doppler_bins, cells});
        }
        const Work work = doppler_work(problem_);
        const double share = double(cells) / double(problem_.shape.range_cells);
        const auto stage =
            core::stage_scope(executor_, timeline, "doppler", work.gflop * share, work.mb * share);
        doppler_->run(input_.device(), doppler_cube_.view());
        return doppler_cube_.view();
    }
    std::optional<DopplerFilter<Executor>> doppler_;
    index_t doppler_cells_ = 0;
#else
    CubeView<Space> transform(index_t, core::Timeline*) {
        throw core::InvalidArgument("the SIMT executor does not support Fourier transforms");
    }
#endif

    /// Space on the device for results that the caller wants.
    Results<Space> shape_results(const Results<core::Host>& results) {
        const index_t bins = problem_.doppler_bins;
        const index_t vectors = problem_.steering_vectors;
        const index_t n = problem_.order;
        const index_t sets = sets_of(piece_.adapted).cells();
        const auto shape = [](auto& array, bool wanted, auto extents) {
            array.reshape(wanted ? extents : decltype(extents){});
            return array.device();
        };
        using Cells = core::Extents<3>;
        using Sets = core::Extents<2>;
        using Matrices = core::Extents<4>;
        return {shape(output_, true, Cells{vectors, bins, piece_.adapted.cells()}),
                shape(info_, true, Sets{bins, sets}),
                shape(pivot_ratio_, true, Sets{bins, sets}),
                shape(covariance_, !results.covariance.empty(), Matrices{bins, sets, n, n}),
                shape(weights_, !results.weights.empty(), Matrices{bins, sets, vectors, n}),
                shape(statistic_, !results.statistic.empty(),
                      Cells{vectors, bins, piece_.wanted.cells()}),
                shape(attempt_, repeats(), Sets{bins, sets})};
    }

    /// Copies entries of dimension `d`, from `first` on, to the part of `to`.
    template <class T, int Rank>
    void place(core::MirroredArray<T, Rank, Executor>& from, int d, index_t first,
               const core::View<T, Rank, core::Host>& to, RangeSpan part) {
        if (to.empty()) return;
        core::copy_runs(
            cpu_,
            {from.host().slice(d, first, first + part.cells()), to.slice(d, part.begin, part.end)},
            core::Stores::past_caches);
    }
    // With training on all cells every piece yields the same results per set, except for info: the
    // first piece with a nonzero info sets it.
    void place_info(index_t first, const core::View<int, 2, core::Host>& info, RangeSpan sets) {
        if (problem_.parameters.training != Training::all || piece_.wanted.begin == 0) {
            place(info_, 1, first, info, sets);
            return;
        }
        for (index_t k = 0; k < problem_.doppler_bins; ++k) {
            if (info(k, 0) == 0) info(k, 0) = info_.host()(k, 0);
        }
    }

    Executor& executor_;
    core::Cpu& cpu_;
    Problem problem_;
    AdaptiveWorkspace<Executor> workspace_;
    RangePiece piece_;
    core::MirroredArray<cfloat, 3, Executor> input_{executor_};
    core::Array<cfloat, 3, Space> doppler_cube_;
    core::MirroredArray<cfloat, 3, Executor> output_{executor_};
    core::MirroredArray<float, 3, Executor> statistic_{executor_};
    core::MirroredArray<int, 2, Executor> info_{executor_};
    core::MirroredArray<float, 2, Executor> pivot_ratio_{executor_};
    core::MirroredArray<int, 2, Executor> attempt_{executor_};
    core::MirroredArray<cfloat, 4, Executor> covariance_{executor_}, weights_{executor_};
};

/// Processes the whole cube in pieces of at most `cells` range cells. Piece i uses executor i
/// modulo their number: with two executors one computes while the other copies. Training on all
/// cells first sums over all of them, with the sums in a single executor's memory. Synchronous.
template <class Executor>
void run_in_pieces(std::vector<Executor*> executors, const Problem& problem,
                   CubeView<core::Host> cube, core::View<const cfloat, 2, core::Host> steering,
                   const Results<core::Host>& results, index_t cells, core::Timeline* timeline) {
    const bool all = problem.parameters.training == Training::all;
    if (all) executors.resize(1);
    core::Cpu cpu;
    std::vector<std::unique_ptr<PieceInFlight<Executor>>> slots;
    for (Executor* executor : executors) {
        slots.push_back(
            std::make_unique<PieceInFlight<Executor>>(*executor, cpu, problem, steering));
    }
    if (all) {
        for (const RangeSpan span : plan_total_spans(problem, cells)) {
            slots[0]->add_to_total(cube, span, timeline);
        }
    }
    core::keep_in_flight(
        slots, plan_range_pieces(problem, cells),
        [&](auto& slot, const RangePiece& piece) { slot->start(cube, piece, results, timeline); },
        [&](auto& slot) { slot->finish(results); });
}

/// Wanted range cells per piece for which `slots` pieces fit in the budget. Throws, as the budget
/// does, if even the smallest piece does not fit.
inline index_t cells_of_piece(const Problem& problem, const Results<core::Host>& results,
                              const core::DeviceBudget& budget, int slots) {
    const double cell_bytes = bytes_per_cell(problem, results) * slots;
    const index_t smallest = piece_alignment(problem);
    // The halo of a piece: its windows on both sides, and the blocks they touch.
    const Parameters& p = problem.parameters;
    const bool windows = p.training == Training::sliding || p.detector == Detector::cfar;
    const index_t around = windows ? 2 * (2 * index_t(p.training_block) + 2 * index_t(p.guard) + 1)
                                   : p.training_block + 2 * index_t(p.guard);
    const double fixed = 32.0 * problem.doppler_bins * problem.order * problem.order * slots;
    const double room = (double(budget.bytes) - fixed) / cell_bytes - double(around);
    budget.expects(room >= double(smallest), "the smallest piece of this cube",
                   static_cast<std::size_t>(fixed + cell_bytes * double(smallest + around)));
    // Several pieces of a large cube, whose copies overlap; their halos are small beside them.
    constexpr double enough_bytes = 64 << 20;
    const double enough = std::max(enough_bytes * slots / cell_bytes, 16.0 * double(around));
    const double cells = std::min(room, std::max(enough, double(smallest)));
    return std::min(static_cast<index_t>(cells), problem.shape.range_cells);
}

}  // namespace aperture::stap::gpu
