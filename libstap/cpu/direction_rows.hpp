// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/error.hpp"
#include "aperture/stap/parameters.hpp"

/// Steering vectors as a grid [elevation][azimuth].
namespace aperture::stap {

/// The azimuths in a row; a `row_length` of 0 stands for one row of all vectors.
inline int vectors_in_row(const Problem& problem, int row_length) {
    if (row_length == 0) return problem.steering_vectors;
    core::expects(row_length > 0 && problem.steering_vectors % row_length == 0, "a row length of ",
                  row_length, " does not divide ", problem.steering_vectors, " steering vectors");
    return row_length;
}

/// The vector so many rows and columns from vector d, or -1 outside of the grid.
inline index_t neighbour_in_rows(index_t vectors, index_t row_length, index_t d, index_t rows,
                                 index_t columns) {
    const index_t column = d % row_length + columns;
    const index_t row = d / row_length + rows;
    if (column < 0 || column >= row_length) return -1;
    if (row < 0 || row >= vectors / row_length) return -1;
    return row * row_length + column;
}

}  // namespace aperture::stap
