// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/adaptation.hpp"
#include "libstap/pipeline_state.hpp"

namespace aperture::stap {

using core::Host;

namespace {

core::Array<cfloat, 2> copy_of(const cpu::Steering& steering) {
    core::Array<cfloat, 2> copy(steering.extent);
    for (index_t d = 0; d < steering.extent[0]; ++d)
        for (index_t i = 0; i < steering.extent[1]; ++i) copy(d, i) = steering(d, i);
    return copy;
}

/// Schedules unsettled matrices of the previous attempt for this one; returns their number.
index_t schedule(const Problem& problem, const Results<Host>& results, int attempt) {
    const auto [bins, sets] = results.info.extent;
    index_t due = 0;
    for (index_t k = 0; k < bins; ++k) {
        for (index_t b = 0; b < sets; ++b) {
            int& last = results.attempt(k, b);
            if (last != attempt - 1 ||
                !needs_another(last, results.info(k, b), results.pivot_ratio(k, b), problem.order))
                continue;
            last = attempt;
            ++due;
        }
    }
    return due;
}

/// Cell-averaging CFAR along range: |y|^2 over its mean in the reference cells (reference_window),
/// 0 if the mean is 0 or one of the cells is not finite. Both views are [D][K][N].
void cell_averaging_cfar(core::Cpu& cpu, const Problem& problem,
                         core::View<const cfloat, 3, Host> output,
                         core::View<float, 3, Host> statistic) {
    const index_t bins = problem.doppler_bins;
    const index_t cells = problem.shape.range_cells;
    const std::size_t bytes =
        static_cast<std::size_t>(cells + 1) * (sizeof(double) + sizeof(index_t));
    core::for_each_task(
        cpu, problem.steering_vectors * bins, bytes, [&](index_t task, std::byte* scratch) {
            const index_t d = task / bins;
            const index_t k = task % bins;
            // Prefix sums are monotonic, so that their differences are never negative. Cells that
            // are not finite are counted instead, as no difference removes them from a sum.
            auto* power_before = reinterpret_cast<double*>(scratch);
            auto* unusable_before = reinterpret_cast<index_t*>(power_before + cells + 1);
            power_before[0] = 0;
            unusable_before[0] = 0;
            for (index_t r = 0; r < cells; ++r) {
                const double power = std::norm(std::complex<double>(output(d, k, r)));
                const bool usable = std::isfinite(power);
                power_before[r + 1] = power_before[r] + (usable ? power : 0);
                unusable_before[r + 1] = unusable_before[r] + (usable ? 0 : 1);
            }
            const auto in_references = [](const TrainingWindow& reference, const auto* before) {
                return before[reference.excluded.begin] - before[reference.window.begin] +
                       (before[reference.window.end] - before[reference.excluded.end]);
            };
            for (index_t r = 0; r < cells; ++r) {
                const TrainingWindow reference = reference_window(problem, r);
                const double power = std::norm(std::complex<double>(output(d, k, r)));
                const double mean =
                    in_references(reference, power_before) / static_cast<double>(reference.cells());
                const bool usable =
                    std::isfinite(power) && in_references(reference, unusable_before) == 0;
                statistic(d, k, r) = usable && mean > 0 ? static_cast<float>(power / mean) : 0.0f;
            }
        });
}

}  // namespace

template <>
class AdaptiveStages<core::Cpu> {
  public:
    AdaptiveStages(core::Cpu& cpu, const Problem& problem, const cpu::Steering& steering)
        : cpu_(cpu), problem_(problem), steering_(copy_of(steering)) {
        const Parameters& p = problem.parameters;
        core::expects(p.implementation != Implementation::cublas,
                      "implementation cublas requires a GPU; use fused or staged on the CPU");
        const bool fp64 = p.precision == Precision::mixed;
        const bool repeats = p.precision == Precision::automatic;
        if (p.training == Training::all) {
            adaptation_ = cpu::all_training(cpu, problem_, steering_);
        } else if (p.training == Training::sliding) {
            adaptation_ = cpu::sliding_training(cpu, problem_, steering_, fp64);
            if (repeats) repetition_ = cpu::sliding_training(cpu, problem_, steering_, true);
        } else {
            const bool staged = p.implementation == Implementation::staged;
            adaptation_ = staged ? cpu::staged_block(cpu, problem_, steering_, fp64)
                                 : cpu::fused_block(cpu, problem_, steering_, fp64);
            if (repeats) repetition_ = cpu::fused_block(cpu, problem_, steering_, true);
        }
    }

    void set_loading(const DiagonalLoading& loading) { problem_.parameters.loading = loading; }

    void run(const CubeView<Host>& cube, const Results<Host>& results,
             core::Timeline* timeline) const {
        adaptation_->run(cube, results, first_attempt, timeline);
        if (repetition_) repeat(cube, results, timeline);
        if (problem_.parameters.detector != Detector::cfar) return;
        const Work work = detect_work(problem_);
        const auto stage = core::Timeline::stage(timeline, cpu_, "detect", work.gflop, work.mb);
        cell_averaging_cfar(cpu_, problem_, results.output, results.statistic);
    }

  private:
    void repeat(const CubeView<Host>& cube, const Results<Host>& results,
                core::Timeline* timeline) const {
        const auto stage = core::Timeline::stage(timeline, cpu_, "repeat", 0, 0);
        for (index_t k = 0; k < problem_.doppler_bins; ++k)
            for (index_t b = 0; b < problem_.training_sets; ++b)
                results.attempt(k, b) = first_attempt;
        for (int attempt = fp64_attempt;
             attempt <= last_attempt && schedule(problem_, results, attempt) > 0; ++attempt)
            repetition_->run(cube, results, attempt, nullptr);
    }

    core::Cpu& cpu_;
    Problem problem_;
    core::Array<cfloat, 2> steering_;
    std::unique_ptr<cpu::Adaptation> adaptation_;
    std::unique_ptr<cpu::Adaptation> repetition_;  ///< of matrices that fp32 cannot be trusted with
};

template class Pipeline<core::Cpu>;

}  // namespace aperture::stap
