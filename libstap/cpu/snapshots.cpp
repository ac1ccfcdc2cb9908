// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/cpu/stages.hpp"
#include "libstap/cpu/worker_tasks.hpp"

namespace aperture::stap {

namespace cpu {

void check_cube(const Problem& problem, const CubeView<core::Host>& cube) {
    const auto [channels, bins, cells] = cube.extent;
    core::expects(channels == problem.shape.channels && bins == problem.doppler_bins &&
                      cells == problem.shape.range_cells,
                  "cube of ", channels, " x ", bins, " x ", cells, ", expected ",
                  problem.shape.channels, " channels x ", problem.doppler_bins, " Doppler bins x ",
                  problem.shape.range_cells, " range cells");
    core::expects(cube.stride[2] == 1, "range cells of the cube are ", cube.stride[2],
                  " elements apart, expected 1");
}

template <class Real>
void extract_snapshots(core::Cpu& cpu, const Problem& problem, const CubeView<core::Host>& cube,
                       index_t first_bin, core::View<std::complex<Real>, 4, core::Host> snapshots) {
    const index_t sets = snapshots.extent[1];
    for_each_task(cpu, snapshots.extent[0] * sets, 0, [&](index_t task, std::byte*) {
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
    core::expects(snapshots.extent == std::array<index_t, 4>{problem.doppler_bins,
                                                             problem.training_sets, problem.order,
                                                             problem.parameters.training_block} &&
                      snapshots.stride[3] == 1,
                  "snapshots of wrong extents or strides");
    cpu::extract_snapshots<float>(cpu, problem, cube, 0, snapshots);
}

}  // namespace aperture::stap
