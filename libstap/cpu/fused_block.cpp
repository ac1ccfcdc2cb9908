// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "libcore/cpu/worker_tasks.hpp"
#include "libcore/rounding.hpp"
#include "libstap/cpu/adaptation.hpp"
#include "libstap/cpu/fused_unit.hpp"
#include "libstap/cpu/snapshots.hpp"
#include "libstap/stage_checks.hpp"

namespace aperture::stap::cpu {
namespace {

/// Number of runs of Doppler bins per block: minimises the time of the busiest thread. For T > 1 a
/// run costs about half a group more than its groups.
template <class Real>
index_t choose_runs(const Problem& problem, int threads) {
    const index_t groups = (problem.doppler_bins + core::lanes<Real> - 1) / core::lanes<Real>;
    const index_t extra = problem.parameters.temporal_taps == 1 ? 0 : 1;
    index_t best = 1;
    index_t least = std::numeric_limits<index_t>::max();
    for (index_t runs = 1; runs <= groups; ++runs) {
        const index_t rounds = (problem.training_sets * runs + threads - 1) / threads;
        const index_t half_groups = rounds * (2 * ((groups + runs - 1) / runs) + extra);
        if (half_groups < least) {
            least = half_groups;
            best = runs;
        }
    }
    return best;
}

/// Calls `run(unit)` for the parts of a run of bins with due matrices: groups of a pack's lanes,
/// neighbouring groups together. Clutter is often at both ends of the Doppler bins.
template <class Real, class Run>
void for_due_groups(const Results<core::Host>& results, const Unit& whole, Run run) {
    constexpr index_t width = core::lanes<Real>;
    const auto is_due = [&](index_t group) {
        const index_t end = std::min((group + 1) * width, whole.bins);
        for (index_t i = group * width; i < end; ++i)
            if (results.attempt(whole.first_bin + i, whole.block) == whole.attempt) return true;
        return false;
    };
    const index_t groups = (whole.bins + width - 1) / width;
    for (index_t begin = 0; begin < groups; ++begin) {
        if (!is_due(begin)) continue;
        index_t end = begin + 1;
        while (end < groups && is_due(end)) ++end;
        Unit unit = whole;
        unit.first_bin += begin * width;
        unit.bins = std::min(end * width, whole.bins) - begin * width;
        run(unit);
        begin = end;
    }
}

template <class Real>
class FusedBlock : public Adaptation {
  public:
    FusedBlock(core::Cpu& cpu, const Problem& problem, const Steering& steering)
        : cpu_(cpu),
          problem_(problem),
          steering_({problem.order, problem.steering_vectors}),
          runs_per_block_(choose_runs<Real>(problem, cpu.threads())) {
        for (int i = 0; i < problem.order; ++i) {
            for (int d = 0; d < problem.steering_vectors; ++d) steering_(i, d) = steering(d, i);
        }
    }

    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results, int attempt,
             core::Timeline* timeline) override {
        const auto scope = adaptive_stage(cpu_, problem_, timeline);
        constexpr index_t width = core::lanes<Real>;
        const std::size_t bytes = core::scratch_bytes_of<Workspace<Real>>(problem_);
        const index_t bins_per_run =
            core::round_up(core::ceil_div(problem_.doppler_bins, runs_per_block_), width);
        const index_t units = problem_.training_sets * runs_per_block_;
        core::for_each_task(cpu_, units, bytes, [&](index_t u, std::byte* scratch) {
            const index_t block = u / runs_per_block_;
            const index_t first = u % runs_per_block_ * bins_per_run;
            const index_t bins = std::min(bins_per_run, problem_.doppler_bins - first);
            if (bins <= 0) return;
            const Unit unit{block,
                            first,
                            bins,
                            training_cells(problem_, block),
                            cells_of_block(problem_, block),
                            attempt};
            core::ScratchParts parts(scratch);
            const Workspace<Real> work(parts, problem_);
            const auto run = [&](const Unit& some) {
                UnitRun<Real>(problem_, steering_.view(), work, cube, results, some)();
            };
            if (attempt == first_attempt) {
                run(unit);
            } else {
                for_due_groups<Real>(results, unit, run);
            }
            fence_streaming();
        });
    }

  private:
    core::Cpu& cpu_;
    const Problem& problem_;
    core::Array<std::complex<Real>, 2> steering_;  // [n][D]
    index_t runs_per_block_;
};

}  // namespace

std::unique_ptr<Adaptation> fused_block(core::Cpu& cpu, const Problem& problem,
                                        const Steering& steering, bool fp64) {
    if (fp64) return std::make_unique<FusedBlock<double>>(cpu, problem, steering);
    return std::make_unique<FusedBlock<float>>(cpu, problem, steering);
}

}  // namespace aperture::stap::cpu

namespace aperture::stap {

void adapt_cube(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                core::View<const cfloat, 2, core::Host> steering,
                core::View<cfloat, 3, core::Host> output, core::View<int, 2, core::Host> info,
                core::View<float, 2, core::Host> pivot_ratio) {
    check_cube(problem, cube);
    check_steering(problem, steering);
    check_map("output", problem, output);
    check_report(problem, info, pivot_ratio);
    Problem without_detector = problem;
    without_detector.parameters.detector = Detector::none;
    Results<core::Host> results;
    results.output = output;
    results.info = info;
    results.pivot_ratio = pivot_ratio;
    cpu::fused_block(cpu, without_detector, steering, false)
        ->run(cube, results, first_attempt, nullptr);
}

}  // namespace aperture::stap
