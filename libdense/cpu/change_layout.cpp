// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_batch.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

// Elements moved at once: their lanes stay in the first-level cache between the two copies.
constexpr index_t elements_at_once = 128;

}  // namespace

template <Scalar T>
void change_layout(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                   MatrixBatch<T, core::Host> to) {
    expects_same_extents(from, to);
    if (from.empty()) return;
    const index_t rows = from.extent[1];
    const index_t columns = from.extent[2];
    const index_t some_columns = std::min(columns, elements_at_once);
    const index_t some_rows = std::min(rows, elements_at_once / some_columns);
    const Order order = order_of(from) == Order::problems ? order_of(to) : order_of(from);
    const bool turns = order_of(to) != Order::problems && order_of(to) != order;
    lanes::for_each_pack<T>(
        cpu, from.extent[0], 2 * lanes::matrix_elements(some_rows, some_columns),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> block = scratch.matrix(some_rows, some_columns, order);
            const lanes::Matrix<T> turned =
                turns ? scratch.matrix(some_rows, some_columns, order_of(to)) : block;
            for (index_t i = 0; i < rows; i += some_rows) {
                const index_t last_row = std::min(i + some_rows, rows);
                for (index_t j = 0; j < columns; j += some_columns) {
                    const index_t last_column = std::min(j + some_columns, columns);
                    lanes::load_lanes<T>(from.slice(1, i, last_row).slice(2, j, last_column), first,
                                         problems, lanes::Part::all, block);
                    if (turns) lanes::copy(last_row - i, last_column - j, block, turned);
                    lanes::store_lanes<T>(turned, to.slice(1, i, last_row).slice(2, j, last_column),
                                          first, problems);
                }
            }
        });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_CHANGE_LAYOUT, core::Cpu)

}  // namespace aperture::dense
