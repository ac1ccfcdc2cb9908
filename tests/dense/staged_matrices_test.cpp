// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/warp_tile.cuh"

namespace aperture::dense {
namespace {

template <class T, int rows, int columns, int lanes>
__global__ void copy_staged(KernelView<const T, 3> from, KernelView<T, 3> to) {
    using Matrix = StagedMatrices<T, rows, columns, lanes>;
    constexpr int slots = (rows + lanes - 1) / lanes;
    const RowsPosition<lanes> at(from.extent[0]);
    T* const shared = warp_area(core::shared<T>(), rows, columns, lanes);
    const Matrix a(at, shared, from);
    a.load(from);
    wait_for_matrices();
    T entry[slots][columns] = {};
    for (int slot = 0; slot < slots; ++slot) {
        const int row = slot * lanes + at.lane;
        if (row < rows) {
            a.for_each_in_row(row, columns, [&](int j, T value) { entry[slot][j] = value; });
        }
    }
    __syncwarp();
    const Matrix b(at, shared, to);
    for (int slot = 0; slot < slots; ++slot) {
        const int row = slot * lanes + at.lane;
        if (row < rows) b.fill_row(row, [&](int j) { return entry[slot][j]; });
    }
    b.store(to);
}

template <class T>
KernelView<T, 3> view_at(T* data, index_t problems, int rows, int columns, int gap) {
    KernelView<T, 3> view{};
    view.data = data;
    view.extent[0] = problems;
    view.extent[1] = rows;
    view.extent[2] = columns;
    view.stride[2] = 1;
    view.stride[1] = columns + gap;
    view.stride[0] = rows * view.stride[1];
    return view;
}

/// Copies matrices that begin anywhere in a chunk of 16 bytes to others, with entries before and
/// behind them that must not change.
template <class T, int rows, int columns, int lanes>
void expect_copied(index_t problems, int gap) {
    constexpr int margin = chunk_entries<T>;
    const auto size = std::size_t(2 * margin + problems * rows * (columns + gap));
    std::vector<T> source(size);
    std::iota(source.begin(), source.end(), T(1));
    for (int shift = 0; shift < margin; ++shift) {
        for (int its_shift = 0; its_shift < margin; ++its_shift) {
            std::vector<T> target(size, T(-1)), expected(target);
            const auto from = view_at<const T>(source.data() + shift, problems, rows, columns, gap);
            const auto to = view_at(target.data() + its_shift, problems, rows, columns, gap);
            const auto its = view_at(expected.data() + its_shift, problems, rows, columns, gap);
            for (index_t p = 0; p < problems; ++p) {
                for (int i = 0; i < rows; ++i) {
                    for (int j = 0; j < columns; ++j) its(p, i, j) = from(p, i, j);
                }
            }
            core::Simt simt;
            core::launch(
                simt, copy_staged<T, rows, columns, lanes>,
                core::LaunchConfig{dim3(core::blocks_for(problems, rows_threads / lanes)),
                                   dim3(rows_threads),
                                   std::size_t(rows_shared_bytes<T>(rows, columns, lanes))},
                from, to);
            ASSERT_EQ(target, expected)
                << rows << " x " << columns << ", " << problems << " problems from " << shift
                << " to " << its_shift << ", gap " << gap;
        }
    }
}

template <class T, int rows, int columns, int lanes>
void expect_copied() {
    constexpr index_t of_block = rows_threads / lanes;
    for (const index_t problems : {index_t(1), of_block / 2 + 1, of_block, 2 * of_block - 1}) {
        for (const int gap : {0, 1}) expect_copied<T, rows, columns, lanes>(problems, gap);
    }
}

TEST(StagedMatrices, MayBeginAnywhereInMemory) {
    expect_copied<float, 1, 1, 2>();
    expect_copied<float, 1, 2, 32>();
    expect_copied<float, 3, 3, 1>();
    expect_copied<float, 4, 4, 4>();
    expect_copied<float, 5, 5, 8>();
    expect_copied<float, 6, 6, 4>();
    expect_copied<float, 9, 7, 4>();
    expect_copied<double, 2, 2, 4>();
    expect_copied<double, 3, 5, 16>();
}

}  // namespace
}  // namespace aperture::dense
