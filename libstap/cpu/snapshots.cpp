// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/shape.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/stages.hpp"

namespace aperture::stap {

namespace cpu {

void check_cube(const Problem& problem, const CubeView<core::Host>& cube) {
    core::expects_shape("cube of Doppler bins", cube,
                        {problem.shape.channels, problem.doppler_bins, problem.shape.range_cells},
                        core::Strides::unit_last);
}

template <class Real>
void extract_snapshots(core::Cpu& cpu, const Problem& problem, const CubeView<core::Host>& cube,
                       index_t first_bin, core::View<std::complex<Real>, 4, core::Host> snapshots) {
    const index_t sets = snapshots.extent[1];
    core::for_each_task(cpu, snapshots.extent[0] * sets, 0, [&](index_t task, std::byte*) {
        const index_t k = task / sets;
        const index_t b = task % sets;
        const RangeSpan cells = training_cells(problem, b);
        for (index_t i = 0; i < problem.order; ++i) {
            const cfloat* row = snapshot_row(problem, cube, first_bin + k, i) + cells.begin;
            std::complex<Real>* column = &snapshots(k, b, i, 0);
            for (index_t r = 0; r < cells.end - cells.begin; ++r)
                column[r] = std::complex<Real>(row[r]);
        }
    });
}

template void extract_snapshots(core::Cpu&, const Problem&, const CubeView<core::Host>&, index_t,
                                core::View<std::complex<float>, 4, core::Host>);
template void extract_snapshots(core::Cpu&, const Problem&, const CubeView<core::Host>&, index_t,
                                core::View<std::complex<double>, 4, core::Host>);

}  // namespace cpu

void extract_snapshots(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                       core::View<cfloat, 4, core::Host> snapshots) {
    cpu::check_cube(problem, cube);
    cpu::check_block_training(problem);
    core::expects_shape("snapshots", snapshots,
                        {problem.doppler_bins, problem.training_sets, problem.order,
                         problem.parameters.training_block},
                        core::Strides::unit_last);
    cpu::extract_snapshots<float>(cpu, problem, cube, 0, snapshots);
}

}  // namespace aperture::stap
