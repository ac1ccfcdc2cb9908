// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcompose/operations/bodies.cuh"

/// Bodies of products of matrices and vectors: the entry of a result in one place.
namespace aperture::compose::bodies {

using core::index_t;

/// Of matrices a, with `inner` columns, and b: terms are added in their order.
template <class Place, class T>
APERTURE_HD T matrix_entry(const Place& at, const T* a, const T* b, index_t inner) {
    const T* const row = a + at.row * inner;
    T sum = T(0);
    for (index_t k = 0; k < inner; ++k) sum = fma(row[k], b[k * at.columns + at.column], sum);
    return sum;
}

template <class Place, class T>
APERTURE_HD T transposed_entry(const Place& at, const T* image) {
    return image[at.column * at.rows + at.row];
}

/// Where a diagonal's number meets the vector.
template <int down_rows, int right_columns>
struct DiagonalAt {
    static constexpr int down = down_rows, right = right_columns;
};
/// sum + weight times the entry of x that a diagonal meets; sum where that is beyond the border.
template <class Place, class T, class Vector>
APERTURE_HD T add_diagonal(const Place& at, T sum, T weight, const Vector& x, int down, int right) {
    const T added = fma(weight, at.template neighbour<Replicate>(x, down, right), sum);
    return at.has(down, right) ? added : sum;
}
/// Diagonals of `size` numbers each, added in their order.
template <class Place, class T, class Vector, class... Diagonals>
APERTURE_HD T diagonal_product(const Place& at, const T* numbers, const Vector& x, index_t size,
                               Diagonals...) {
    T sum = T(0);
    const T* number = numbers + at.here;
    ((sum = add_diagonal(at, sum, *number, x, Diagonals::down, Diagonals::right), number += size),
     ...);
    return sum;
}

/// A row of `starts[row + 1] - starts[row]` entries, added in their order. NaN where an entry is
/// not in the arrays, or its column not in x.
template <class Place, class T>
APERTURE_HD T compressed_product(const Place& at, const T* numbers, const long long* starts,
                                 const long long* columns, const T* x, index_t entries,
                                 index_t size) {
    const T not_a_number = T(0) * highest<T>();
    const index_t begin = starts[at.here], end = starts[at.here + 1];
    if (begin < 0 || end > entries) return not_a_number;
    T sum = T(0);
    for (index_t i = begin; i < end; ++i) {
        const index_t column = columns[i];
        if (column < 0 || column >= size) return not_a_number;
        sum = fma(numbers[i], x[column], sum);
    }
    return sum;
}

}  // namespace aperture::compose::bodies
