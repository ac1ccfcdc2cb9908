// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/pipeline.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "aperture/stap/attempts.hpp"
#include "libstap/cpu/all_training.hpp"
#include "libstap/cpu/cfar.hpp"
#include "libstap/cpu/fused_block.hpp"
#include "libstap/cpu/results.hpp"
#include "libstap/cpu/sliding_training.hpp"
#include "libstap/cpu/staged_block.hpp"

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

}  // namespace

template <>
struct Pipeline<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    core::Array<cfloat, 2> steering;
    std::optional<DopplerFilter<core::Cpu>> doppler;
    core::Array<cfloat, 3> doppler_cube;
    Adaptation adaptation;
    Repetition repetition;  ///< of matrices that fp32 cannot be trusted with

    State(core::Cpu& executor, const Problem& p, const core::View<const cfloat, 2, Host>& vectors)
        : cpu(executor), problem(p), steering(copy_of(vectors)) {
        if (p.shape.domain == Domain::pulse) {
            doppler.emplace(cpu, p);
            doppler_cube =
                core::Array<cfloat, 3>({p.shape.channels, p.doppler_bins, p.shape.range_cells});
        }
        if (p.parameters.training == Training::all) {
            adaptation.emplace<cpu::AllTraining>(cpu, problem, steering);
        } else if (p.parameters.precision == Precision::mixed) {
            choose<double>(adaptation, cpu, problem, steering);
        } else {
            choose<float>(adaptation, cpu, problem, steering);
        }
        if (p.parameters.precision != Precision::automatic) return;
        if (p.parameters.training == Training::block)
            repetition.emplace<cpu::FusedBlock<double>>(cpu, problem, steering);
        if (p.parameters.training == Training::sliding)
            repetition.emplace<cpu::SlidingTraining<double>>(cpu, problem, steering);
    }

    void adapt(const CubeView<Host>& cube, const Results<Host>& results, core::Timeline* timeline) {
        std::visit(
            [&](auto& chosen) {
                if constexpr (requires { chosen.run(cube, results, timeline); }) {
                    chosen.run(cube, results, timeline);
                } else if constexpr (requires { chosen.run(cube, results); }) {
                    const Work work = adaptive_work(problem);
                    const auto stage =
                        core::Timeline::stage(timeline, cpu, "adaptive", work.gflop, work.mb);
                    chosen.run(cube, results);
                }
            },
            adaptation);
    }

    void repeat(const CubeView<Host>& cube, const Results<Host>& results,
                core::Timeline* timeline) {
        std::visit(
            [&](auto& again) {
                if constexpr (requires { again.run(cube, results, 1); }) {
                    const auto stage = core::Timeline::stage(timeline, cpu, "repeat", 0, 0);
                    for (index_t k = 0; k < problem.doppler_bins; ++k)
                        for (index_t b = 0; b < problem.training_sets; ++b)
                            results.attempt(k, b) = first_attempt;
                    for (int attempt = fp64_attempt;
                         attempt <= last_attempt && schedule(problem, results, attempt) > 0;
                         ++attempt)
                        again.run(cube, results, attempt);
                }
            },
            repetition);
    }

    void run(CubeView<Host> cube, const Results<Host>& results, core::Timeline* timeline) {
        const CubeShape& shape = problem.shape;
        core::expects_shape("cube", cube, {shape.channels, shape.pulses, shape.range_cells},
                            core::Strides::unit_last);
        check_results(problem, results);
        if (doppler) {
            const Work work = doppler_work(problem);
            const auto stage = core::Timeline::stage(timeline, cpu, "doppler", work.gflop, work.mb);
            doppler->run(cube, doppler_cube);
            cube = doppler_cube;
        }
        adapt(cube, results, timeline);
        repeat(cube, results, timeline);
        if (problem.parameters.detector == Detector::cfar) {
            const Work work = detect_work(problem);
            const auto stage = core::Timeline::stage(timeline, cpu, "detect", work.gflop, work.mb);
            cpu::cell_averaging_cfar(cpu, problem, results.output, results.statistic);
        }
    }
};

template <class Executor>
Pipeline<Executor>::Pipeline(Executor& executor, const Problem& problem,
                             core::View<const cfloat, 2, core::Host> steering) {
    core::expects(problem.parameters.implementation != Implementation::cublas,
                  "implementation cublas requires a GPU; use fused or staged on the CPU");
    core::expects_shape("steering", steering, {problem.steering_vectors, problem.order});
    state_ = std::make_unique<State>(executor, problem, steering);
}
template <class Executor>
Pipeline<Executor>::~Pipeline() = default;
template <class Executor>
Pipeline<Executor>::Pipeline(Pipeline&&) noexcept = default;
template <class Executor>
Pipeline<Executor>& Pipeline<Executor>::operator=(Pipeline&&) noexcept = default;

template <class Executor>
void Pipeline<Executor>::run(CubeView<Space> cube, const Results<Space>& results,
                             core::Timeline* timeline) {
    state_->run(cube, results, timeline);
}

template class Pipeline<core::Cpu>;

}  // namespace aperture::stap
