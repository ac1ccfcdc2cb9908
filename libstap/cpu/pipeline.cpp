// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "aperture/stap/attempts.hpp"
#include "libstap/cpu/all_training.hpp"
#include "libstap/cpu/cfar.hpp"
#include "libstap/cpu/fused_block.hpp"
#include "libstap/cpu/sliding_training.hpp"
#include "libstap/cpu/staged_block.hpp"
#include "libstap/pipeline_driver.hpp"

namespace aperture::stap {

using core::Host;

namespace {

core::Array<cfloat, 2> copy_of(const core::View<const cfloat, 2, Host>& steering) {
    core::Array<cfloat, 2> copy(steering.extent);
    for (index_t d = 0; d < steering.extent[0]; ++d)
        for (index_t i = 0; i < steering.extent[1]; ++i) copy(d, i) = steering(d, i);
    return copy;
}

using Adaptation =
    std::variant<std::monostate, cpu::FusedBlock<float>, cpu::FusedBlock<double>,
                 cpu::StagedBlock<float>, cpu::StagedBlock<double>, cpu::SlidingTraining<float>,
                 cpu::SlidingTraining<double>, cpu::AllTraining>;
using Repetition =
    std::variant<std::monostate, cpu::FusedBlock<double>, cpu::SlidingTraining<double>>;

template <class Real>
void choose(Adaptation& adaptation, core::Cpu& executor, const Problem& problem,
            const core::View<const cfloat, 2, Host>& steering) {
    if (problem.parameters.training == Training::sliding) {
        adaptation.emplace<cpu::SlidingTraining<Real>>(executor, problem, steering);
    } else if (problem.parameters.implementation == Implementation::staged) {
        adaptation.emplace<cpu::StagedBlock<Real>>(executor, problem, steering);
    } else {
        adaptation.emplace<cpu::FusedBlock<Real>>(executor, problem, steering);
    }
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

/// See PipelineDriver.
class CpuOperations {
  public:
    using Executor = core::Cpu;

    CpuOperations(core::Cpu& cpu, const Problem& problem,
                  const core::View<const cfloat, 2, Host>& steering)
        : cpu_(cpu), problem_(problem), steering_(copy_of(steering)) {
        const Parameters& p = problem.parameters;
        core::expects(p.implementation != Implementation::cublas,
                      "implementation cublas requires a GPU; use fused or staged on the CPU");
        if (p.training == Training::all) {
            adaptation_.emplace<cpu::AllTraining>(cpu, problem, steering_);
            return;
        }
        if (p.precision == Precision::mixed) {
            choose<double>(adaptation_, cpu, problem, steering_);
        } else {
            choose<float>(adaptation_, cpu, problem, steering_);
        }
        if (p.precision != Precision::automatic) return;
        if (p.training == Training::block) {
            repetition_.emplace<cpu::FusedBlock<double>>(cpu, problem, steering_);
        } else {
            repetition_.emplace<cpu::SlidingTraining<double>>(cpu, problem, steering_);
        }
    }

    struct Run {
        CpuOperations& operations;
        CubeView<Host> cube;
        const Results<Host>& results;
        core::Timeline* timeline;

        auto stage(const char* name, const Work& work) const {
            return core::Timeline::stage(timeline, operations.cpu_, name, work.gflop, work.mb);
        }
        void adapt() const {
            std::visit(
                [&](auto& chosen) {
                    if constexpr (requires { chosen.run(cube, results, timeline); }) {
                        chosen.run(cube, results, timeline);
                    } else if constexpr (requires { chosen.run(cube, results); }) {
                        const auto scope = stage("adaptive", adaptive_work(operations.problem_));
                        chosen.run(cube, results);
                    }
                },
                operations.adaptation_);
        }
        /// Other forms than StagedBlock compute the statistics in adapt().
        void detect() const {
            std::visit(
                [&](auto& chosen) {
                    if constexpr (requires { chosen.detect(cube, results); }) {
                        const auto scope = stage("detect", detect_work(operations.problem_));
                        chosen.detect(cube, results);
                    }
                },
                operations.adaptation_);
        }
        void repeat() const {
            const auto scope = stage("repeat", {});
            const Problem& problem = operations.problem_;
            for (index_t k = 0; k < problem.doppler_bins; ++k)
                for (index_t b = 0; b < problem.training_sets; ++b)
                    results.attempt(k, b) = first_attempt;
            std::visit(
                [&](auto& again) {
                    if constexpr (requires { again.run(cube, results, 1); }) {
                        for (int attempt = fp64_attempt;
                             attempt <= last_attempt && schedule(problem, results, attempt) > 0;
                             ++attempt)
                            again.run(cube, results, attempt);
                    }
                },
                operations.repetition_);
        }
        void average() const {
            const auto scope = stage("detect", detect_work(operations.problem_));
            cpu::cell_averaging_cfar(operations.cpu_, operations.problem_, results.output,
                                     results.statistic);
        }
    };
    Run on(const CubeView<Host>& cube, const Results<Host>& results, core::Timeline* timeline) {
        return {*this, cube, results, timeline};
    }

  private:
    core::Cpu& cpu_;
    const Problem& problem_;
    core::Array<cfloat, 2> steering_;
    Adaptation adaptation_;
    Repetition repetition_;  ///< of matrices that fp32 cannot be trusted with
};

}  // namespace

template <>
struct Pipeline<core::Cpu>::State : PipelineDriver<CpuOperations> {
    using PipelineDriver::PipelineDriver;
};

template class Pipeline<core::Cpu>;

}  // namespace aperture::stap
