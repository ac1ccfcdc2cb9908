// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The range cells of each training set of a cube, or of a range piece of it.

#include "aperture/core/view.hpp"
#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/kernel.cuh"

namespace aperture::stap::gpu {

using core::Complex;
using core::index_t;
using core::KernelView;

/// `all` subtracts the cells near the one under test from the sum over all cells; `total` is that
/// sum.
enum class TrainingCells { block, sliding, all, total };

/// Determines the training sets. Cells are numbered from the start of the whole cube, even if only
/// a piece of it is in memory.
struct TrainingPlan {
    TrainingCells kind;
    int block;            ///< N_R
    int guard;            ///< G
    index_t range_cells;  ///< N of the whole cube
    index_t data_begin;   ///< cell of the first column in memory
    index_t cell_begin;   ///< cell of the first column of outputs
    index_t set_begin;    ///< training set of the first column of weights, covariances and info
};

/// The columns of one training set: `cells` of them from cell `first`. Relative to `first`,
/// [excluded_begin, excluded_end) do not train and [output_begin, output_end) are adapted. For
/// TrainingCells::all the columns are subtracted from the sum over all cells.
struct TrainingSet {
    index_t first;
    int cells;
    int excluded_begin, excluded_end;
    int output_begin, output_end;
    int training_cells;  ///< number of cells in the covariance
};

__device__ inline index_t clamp_cell(index_t cell, index_t low, index_t high) {
    return cell < low ? low : cell > high ? high : cell;
}

/// The window of N_R + 2G + 1 cells around `cell`, shifted inwards at the ends, and the cells near
/// `cell` that it excludes.
__device__ inline TrainingSet sliding_window(const TrainingPlan& plan, index_t cell) {
    const int width = plan.block + 2 * plan.guard + 1;
    const index_t begin =
        clamp_cell(cell - plan.guard - plan.block / 2, 0, plan.range_cells - width);
    TrainingSet set;
    set.first = begin;
    set.cells = width;
    set.excluded_begin = static_cast<int>(clamp_cell(cell - plan.guard, 0, cell) - begin);
    set.excluded_end =
        static_cast<int>(clamp_cell(cell + plan.guard + 1, cell, plan.range_cells) - begin);
    set.output_begin = static_cast<int>(cell - begin);
    set.output_end = set.output_begin + 1;
    set.training_cells = width - (set.excluded_end - set.excluded_begin);
    return set;
}

__device__ inline TrainingSet training_block(const TrainingPlan& plan, index_t block) {
    const index_t begin = block * plan.block;
    const index_t last = plan.range_cells - plan.block;
    TrainingSet set;
    set.first = begin < last ? begin : last;
    set.cells = plan.block;
    set.excluded_begin = set.excluded_end = plan.block;
    set.output_begin = static_cast<int>(begin - set.first);
    set.output_end = plan.block;
    set.training_cells = plan.block;
    return set;
}

__device__ inline TrainingSet cells_to_remove(const TrainingPlan& plan, index_t cell) {
    TrainingSet set;
    set.first = clamp_cell(cell - plan.guard, 0, cell);
    set.cells =
        static_cast<int>(clamp_cell(cell + plan.guard + 1, cell, plan.range_cells) - set.first);
    set.excluded_begin = set.excluded_end = set.cells;
    set.output_begin = static_cast<int>(cell - set.first);
    set.output_end = set.output_begin + 1;
    set.training_cells = static_cast<int>(plan.range_cells) - set.cells;
    return set;
}

/// Training set `set` of the launch, numbered from plan.set_begin.
__device__ inline TrainingSet training_set(const TrainingPlan& plan, index_t set) {
    switch (plan.kind) {
        case TrainingCells::block:
            return training_block(plan, plan.set_begin + set);
        case TrainingCells::sliding:
            return sliding_window(plan, plan.set_begin + set);
        case TrainingCells::all:
            return cells_to_remove(plan, plan.set_begin + set);
        default:
            return {0, 0, 0, 0, 0, 0, static_cast<int>(plan.range_cells)};
    }
}

}  // namespace aperture::stap::gpu
