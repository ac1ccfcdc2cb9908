// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/dense/batch_blas.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/snapshots.hpp"
#include "libstap/loading.hpp"
#include "libstap/stage_checks.hpp"

/// The stages in workspace of the caller: repeated calls allocate nothing.
namespace aperture::stap::cpu {

/// Views dense matrices [k][b][row][column] as a libdense batch [k b][row][column].
template <class T>
dense::MatrixBatch<T, core::Host> as_batch(const core::View<T, 4, core::Host>& matrices) {
    const auto [bins, sets, rows, columns] = matrices.extent;
    return {matrices.data, {bins * sets, rows, columns}};
}

/// Matrices [k][b][rows][columns] of as many Doppler bins as fit in a few MiB, at least one.
template <class Real>
core::Array<std::complex<Real>, 4> chunk_of_bins(const Problem& problem, index_t rows,
                                                 index_t columns) {
    constexpr index_t chunk_bytes = index_t(4) << 20;
    const index_t sets = problem.training_sets;
    const index_t bin_bytes = sets * rows * columns * index_t(sizeof(std::complex<Real>));
    return core::Array<std::complex<Real>, 4>(
        {std::clamp<index_t>(chunk_bytes / bin_bytes, 1, problem.doppler_bins), sets, rows,
         columns});
}

/// Snapshots of the training cells of Doppler bins [first_bin, first_bin + extent[0]):
/// [k][b][n][N_R] in either precision.
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
            for (index_t r = 0; r < cells.cells(); ++r) column[r] = std::complex<Real>(row[r]);
        }
    });
}

/// estimate_covariance; `chunk` is chunk_of_bins of snapshots, [k][b][n][N_R].
template <class Real>
void estimate_covariance(core::Cpu& cpu, const Problem& problem, const CubeView<core::Host>& cube,
                         core::Array<std::complex<Real>, 4>& chunk,
                         core::View<std::complex<Real>, 4, core::Host> covariance) {
    using Complex = std::complex<Real>;
    const index_t bins = problem.doppler_bins;
    const Real mean = Real(1) / static_cast<Real>(problem.parameters.training_block);
    for (index_t first = 0; first < bins; first += chunk.extent()[0]) {
        const index_t last = std::min(first + chunk.extent()[0], bins);
        const core::View<Complex, 4, core::Host> snapshots = chunk.view().slice(0, 0, last - first);
        const auto r = as_batch(covariance.slice(0, first, last));
        extract_snapshots<Real>(cpu, problem, cube, first, snapshots);
        dense::hermitian_rank_k<Complex>(cpu, mean, as_batch<const Complex>(snapshots), Real(0), r);
        for (index_t b = 0; b < r.extent[0]; ++b) {
            double trace = 0;
            for (index_t i = 0; i < problem.order; ++i) trace += r(b, i, i).real();
            const auto added = static_cast<Real>(amount_of(loading_of(problem, 0), problem, trace));
            for (index_t i = 0; i < problem.order; ++i) r(b, i, i) += added;
        }
    }
}

/// What dense::solve reports of every matrix, [k b].
template <class Real>
struct SolverReport {
    core::Array<int, 1> info;
    core::Array<Real, 1> pivot_ratio;

    explicit SolverReport(const Problem& problem)
        : info({problem.doppler_bins * problem.training_sets}), pivot_ratio(info.extent()) {}
};

template <class Real>
void solve_weights(core::Cpu& cpu, const Problem& problem,
                   core::View<const std::complex<Real>, 4, core::Host> covariance,
                   core::View<const cfloat, 2, core::Host> steering, SolverReport<Real>& report,
                   core::View<std::complex<Real>, 4, core::Host> weights,
                   core::View<int, 2, core::Host> info,
                   core::View<float, 2, core::Host> pivot_ratio) {
    using Complex = std::complex<Real>;
    const auto solutions = as_batch(weights);
    for (index_t m = 0; m < solutions.extent[0]; ++m)
        for (index_t d = 0; d < solutions.extent[1]; ++d)
            for (index_t i = 0; i < solutions.extent[2]; ++i)
                solutions(m, d, i) = Complex(steering(d, i));
    dense::solve<Complex>(cpu, problem.parameters.solver, as_batch(covariance), solutions,
                          report.info, report.pivot_ratio);
    const index_t sets = problem.training_sets;
    for (index_t m = 0; m < solutions.extent[0]; ++m) {
        info(m / sets, m % sets) = report.info(m);
        pivot_ratio(m / sets, m % sets) = static_cast<float>(report.pivot_ratio(m));
    }
}

}  // namespace aperture::stap::cpu
