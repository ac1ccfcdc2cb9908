// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_mappings.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcore/rounding.hpp"

namespace aperture::bench {
namespace {

constexpr int lanes_of_group = 4;

template <MappedPhase phase>
void launch_phase(core::Gpu& gpu, const MappedProblems& on, int panel) {
    const int parts = parts_of<phase>(on.n, panel);
    if (parts == 0) return;
    core::launch(gpu, &part_of_all<phase>,
                 core::LaunchConfig(static_cast<unsigned>(parts), mapped_threads, mapped_bytes), on,
                 panel);
}

template <MappedFunction function>
void run(core::Gpu& gpu, OtherMapping mapping, const MappedProblems& on) {
    if (mapping == OtherMapping::interleaved_groups) {
        core::launch(gpu, &in_interleaved_groups<function>,
                     core::LaunchConfig(static_cast<unsigned>(
                                            core::ceil_div(on.problems, index_t{group_problems})),
                                        lanes_of_group * core::warp_size,
                                        static_cast<std::size_t>(group_bytes(function, on.n))),
                     on);
    } else if (mapping == OtherMapping::walk) {
        core::launch(
            gpu, &walk_parts<function>,
            core::LaunchConfig(static_cast<unsigned>(on.problems), mapped_threads, mapped_bytes),
            on);
    } else if constexpr (function == MappedFunction::gemv) {
        launch_phase<MappedPhase::gemv>(gpu, on, 0);
    } else if constexpr (function == MappedFunction::gemm) {
        launch_phase<MappedPhase::gemm>(gpu, on, 0);
    } else {
        for (int panel = 0; panel * mapped_tile < on.n; ++panel) {
            launch_phase<MappedPhase::diagonal>(gpu, on, panel);
            launch_phase<MappedPhase::below>(gpu, on, panel);
            launch_phase<MappedPhase::update>(gpu, on, panel);
        }
    }
}

}  // namespace

void run_mapped(core::Gpu& gpu, MappedFunction function, OtherMapping mapping,
                const MappedProblems& on) {
    switch (function) {
        case MappedFunction::gemv:
            return run<MappedFunction::gemv>(gpu, mapping, on);
        case MappedFunction::gemm:
            return run<MappedFunction::gemm>(gpu, mapping, on);
        case MappedFunction::cholesky:
            break;
    }
    run<MappedFunction::cholesky>(gpu, mapping, on);
}

}  // namespace aperture::bench
