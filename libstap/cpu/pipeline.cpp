// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/pipeline.hpp"

#include <algorithm>
#include <optional>
#include <variant>

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

}  // namespace

template <>
struct Pipeline<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    core::Array<cfloat, 2> steering;
    std::optional<DopplerFilter<core::Cpu>> doppler;
    core::Array<cfloat, 3> doppler_cube;
    Adaptation adaptation;

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
                  "implementation cublas needs a GPU; use fused or staged on the CPU");
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
