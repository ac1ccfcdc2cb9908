// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
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
/// 0 if the mean is 0. Both views are [D][K][N].
void cell_averaging_cfar(core::Cpu& cpu, const Problem& problem,
                         core::View<const cfloat, 3, Host> output,
                         core::View<float, 3, Host> statistic) {
    const index_t bins = problem.doppler_bins;
    const index_t cells = problem.shape.range_cells;
    const std::size_t bytes = static_cast<std::size_t>(cells + 1) * sizeof(double);
    core::for_each_task(
        cpu, problem.steering_vectors * bins, bytes, [&](index_t task, std::byte* scratch) {
            const index_t d = task / bins;
            const index_t k = task % bins;
            // Prefix sums are monotonic, so that their differences are never negative.
            auto* power_before = reinterpret_cast<double*>(scratch);
            power_before[0] = 0;
            for (index_t r = 0; r < cells; ++r)
                power_before[r + 1] =
                    power_before[r] + std::norm(std::complex<double>(output(d, k, r)));
            const auto power_in = [&](const RangeSpan& span) {
                return power_before[span.end] - power_before[span.begin];
            };
            for (index_t r = 0; r < cells; ++r) {
                const TrainingWindow reference = reference_window(problem, r);
                const double sum = power_in({reference.window.begin, reference.excluded.begin}) +
                                   power_in({reference.excluded.end, reference.window.end});
                const double power = std::norm(std::complex<double>(output(d, k, r)));
                const double mean = sum / static_cast<double>(reference.cells());
                statistic(d, k, r) = mean > 0 ? static_cast<float>(power / mean) : 0.0f;
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
            adaptation_ = cpu::all_training(cpu, problem, steering_);
        } else if (p.training == Training::sliding) {
            adaptation_ = cpu::sliding_training(cpu, problem, steering_, fp64);
            if (repeats) repetition_ = cpu::sliding_training(cpu, problem, steering_, true);
        } else {
            const bool staged = p.implementation == Implementation::staged;
            adaptation_ = staged ? cpu::staged_block(cpu, problem, steering_, fp64)
                                 : cpu::fused_block(cpu, problem, steering_, fp64);
            if (repeats) repetition_ = cpu::fused_block(cpu, problem, steering_, true);
        }
    }

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
