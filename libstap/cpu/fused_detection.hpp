// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/detector.hpp"
#include "aperture/stap/parameters.hpp"

/// Detection statistics of the range cells of one Doppler bin from the weighted output and x^H R^-1
/// x, with the cell under test removed from its own covariance.
namespace aperture::stap::cpu {

struct CellsUnderTest {
    const float* squares;  ///< [cell][2]; x^H R^-1 x is the sum of both
    index_t count;
    float training_cells;  ///< N_R: M = N_R R
    Detector detector;

    float c(index_t cell) const {
        return (squares[2 * cell] + squares[2 * cell + 1]) / training_cells;
    }
};

/// The first cell that cannot be removed from a positive definite covariance; `count` if none.
inline index_t find_indefinite(const CellsUnderTest& cells) {
    index_t cell = 0;
    while (cell < cells.count && stays_definite(cells.c(cell), cells.training_cells)) ++cell;
    return cell;
}

/// `gain` is v^H R^-1 v, `y` = gamma w^H x as (re, im) pairs.
inline void detect_cells(const CellsUnderTest& cells, float gain, float gamma, const float* y,
                         float* statistic) {
    const float scale = 1.0f / (gamma * cells.training_cells);
    const float a = gain / cells.training_cells;
    for (index_t cell = 0; cell < cells.count; ++cell) {
        const float re = y[2 * cell] * scale;
        const float im = y[2 * cell + 1] * scale;
        const QuadraticForms<float> forms{a, re * re + im * im, cells.c(cell)};
        statistic[cell] = cell_statistic(cells.detector, forms, cells.training_cells, true);
    }
}

}  // namespace aperture::stap::cpu
