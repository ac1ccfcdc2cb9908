// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/cpu/cell_covariance.hpp"

#include <algorithm>

#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/snapshots.hpp"
#include "libstap/loading.hpp"

namespace aperture::stap::cpu {
namespace {

using Complex = std::complex<double>;
using Matrix = core::View<Complex, 2, core::Host>;

/// Estimates in a thread's scratch memory.
class Estimation {
  public:
    Estimation(core::ScratchParts& parts, const Problem& problem, index_t cells)
        : problem_(problem), n_(problem.order) {
        planes_ = {parts.allocate<double>(n_ * cells), parts.allocate<double>(n_ * cells), cells};
        sum_ = parts.allocate<Complex>(n_ * n_);
    }

    /// Before all_but_excluded, once for every Doppler bin.
    void sum_all(CubeView<core::Host> cube, index_t doppler_bin) {
        const index_t cells = problem_.shape.range_cells;
        split_snapshots<double>(problem_, cube, doppler_bin, {0, cells}, planes_);
        sum_outer_products(planes_, n_, cells, sum_);
    }

    /// Training::all.
    void all_but_excluded(const Place& place, Matrix r) const {
        const TrainingWindow window = training_window(problem_, place.range_cell);
        // The loading is that of all cells.
        const double loading = loading_for(place, problem_.shape.range_cells);
        std::copy_n(sum_, n_ * n_, r.data);
        remove(window.excluded, r);
        finish(loading, window.cells(), r);
    }

    /// Training::block and sliding.
    void of_window(CubeView<core::Host> cube, const Place& place, Matrix r) {
        const RangeSpan read = cells_read_for(problem_, place.range_cell);
        split_snapshots<double>(problem_, cube, place.doppler_bin, read, planes_);
        index_t trained = read.cells();
        if (problem_.parameters.training == Training::sliding) {
            const TrainingWindow window = training_window(problem_, place.range_cell);
            trained = window.cells();
            for (index_t i = 0; i < n_; ++i)
                for (double* part : {planes_.re, planes_.im})
                    std::fill_n(part + i * planes_.stride + window.excluded.begin - read.begin,
                                window.excluded.cells(), 0.0);
        }
        sum_outer_products(planes_, n_, read.cells(), sum_);
        // A cell that is left out of a block does not change the loading.
        const double loading = loading_for(place, trained);
        std::copy_n(sum_, n_ * n_, r.data);
        const bool removes = place.without_cell && problem_.parameters.training == Training::block;
        const index_t cell = place.range_cell - read.begin;
        if (removes) remove({cell, cell + 1}, r);
        finish(loading, removes ? trained - 1 : trained, r);
    }

  private:
    Complex element(index_t i, index_t cell) const {
        const index_t at = i * planes_.stride + cell;
        return {planes_.re[at], planes_.im[at]};
    }

    /// What loads sum_, a sum over so many cells.
    double loading_for(const Place& place, index_t cells) const {
        const auto count = static_cast<double>(cells);
        double trace = 0;
        for (index_t i = 0; i < n_; ++i) trace += sum_[i * n_ + i].real();
        return count *
               amount_of(loading_of(problem_, place.automatic_loading), problem_, trace / count);
    }

    /// Subtracts the outer products of columns of planes_.
    void remove(const RangeSpan& columns, Matrix r) const {
        for (index_t column = columns.begin; column < columns.end; ++column)
            for (index_t i = 0; i < n_; ++i)
                for (index_t j = 0; j <= i; ++j)
                    r(i, j) -= element(i, column) * std::conj(element(j, column));
    }

    /// From the lower triangle of a sum over so many cells to R. Without any, R is the loading.
    void finish(double loading, index_t cells, Matrix r) const {
        const double scale = 1 / static_cast<double>(std::max<index_t>(cells, 1));
        for (index_t i = 0; i < n_; ++i) {
            r(i, i) += loading;
            for (index_t j = 0; j <= i; ++j) {
                r(i, j) *= scale;
                r(j, i) = std::conj(r(i, j));
            }
        }
    }

    const Problem& problem_;
    index_t n_;
    SnapshotPlanes<double> planes_;  ///< of all cells, or of a window
    Complex* sum_;                   ///< lower triangle
};

/// Begins of runs of places that a task estimates together, and the end: of a Doppler bin with
/// Training::all, otherwise single places.
std::vector<std::size_t> begins_of_runs(const Problem& problem, const std::vector<Place>& places) {
    const bool all = problem.parameters.training == Training::all;
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < places.size(); ++i)
        if (!all || i == 0 || places[i].doppler_bin != places[i - 1].doppler_bin)
            begins.push_back(i);
    begins.push_back(places.size());
    return begins;
}

void estimate_cells(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                    const std::vector<Place>& places,
                    core::View<Complex, 3, core::Host> covariance) {
    const bool all = problem.parameters.training == Training::all;
    const std::vector<std::size_t> begins = begins_of_runs(problem, places);
    const index_t cells = cells_read_for(problem, 0).cells();
    const std::size_t bytes = core::scratch_bytes_of<Estimation>(problem, cells);
    core::for_each_task(
        cpu, static_cast<index_t>(begins.size()) - 1, bytes, [&](index_t run, std::byte* scratch) {
            core::ScratchParts parts(scratch);
            Estimation estimation(parts, problem, cells);
            const std::size_t begin = begins[static_cast<std::size_t>(run)];
            if (all) estimation.sum_all(cube, places[begin].doppler_bin);
            for (std::size_t i = begin; i < begins[static_cast<std::size_t>(run) + 1]; ++i) {
                const Matrix r = covariance[static_cast<index_t>(i)];
                if (all) {
                    estimation.all_but_excluded(places[i], r);
                } else {
                    estimation.of_window(cube, places[i], r);
                }
            }
        });
}

}  // namespace

index_t places_at_a_time(const Problem& problem, index_t vectors) {
    constexpr index_t bytes = index_t(16) << 20;
    const index_t n = problem.order;
    return std::max<index_t>(1, bytes / (n * (n + vectors) * index_t(sizeof(Complex))));
}

RangeSpan cells_read_for(const Problem& problem, index_t range_cell) {
    if (problem.parameters.training == Training::sliding)
        return training_window(problem, range_cell).window;
    return training_cells(problem, training_set_of(problem, range_cell));
}

void solve_cells(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                 const std::vector<Place>& places, CellSystems& systems) {
    const auto count = static_cast<index_t>(places.size());
    systems.covariance.reshape({count, problem.order, problem.order});
    systems.info.reshape({count});
    systems.pivot_ratio.reshape({count});
    estimate_cells(cpu, problem, cube, places, systems.covariance);
    using Batch = dense::MatrixBatch<Complex, core::Host>;
    dense::solve<Complex>(cpu, problem.parameters.solver,
                          Batch(systems.covariance.data(), systems.covariance.extent()),
                          Batch(systems.vectors.data(), systems.vectors.extent()), systems.info,
                          systems.pivot_ratio);
}

}  // namespace aperture::stap::cpu
