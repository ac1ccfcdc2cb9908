// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/warp_tile.cuh"
#include "tests/same_bytes.hpp"

namespace aperture::dense {
namespace {

template <class T, int rows, int columns, int lanes>
__global__ void copy_staged(KernelView<const T, 3> from, KernelView<T, 3> to) {
    using Matrix = StagedMatrices<T, rows, columns, lanes>;
    constexpr int slots = (rows + lanes - 1) / lanes;
    const RowsPosition<lanes> at(from.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), rows, columns, lanes);
    const Matrix a(at, shared, from);
    a.load(from);
    wait_for_matrices(a.by_blocks(from));
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

/// From the fastest dimension to the slowest; 0: the problem, 1: the row, 2: the column.
struct Nesting {
    const char* name;
    int dimension[3];
    int first_stride = 1;
};
constexpr Nesting by_rows{"by rows", {2, 1, 0}};
constexpr Nesting all_nestings[] = {by_rows,
                                    {"by columns", {1, 2, 0}},
                                    {"interleaved", {0, 2, 1}},
                                    {"interleaved columns", {0, 1, 2}},
                                    {"every second entry", {2, 1, 0}, 2},
                                    {"problems between rows", {2, 0, 1}}};

/// Behind each line, and behind all lines of the next dimension, are `gap` entries.
template <class T>
KernelView<T, 3> view_at(T* data, const core::Extents<3>& extent, const Nesting& nesting, int gap) {
    KernelView<T, 3> view{};
    view.data = data;
    view.extent = extent;
    index_t stride = nesting.first_stride;
    for (const int d : nesting.dimension) {
        view.stride[d] = stride;
        stride = stride * extent[d] + gap;
    }
    return view;
}

template <class T, int rows, int columns, int lanes>
class Copies {
  public:
    Copies(index_t problems, const Nesting& nesting, int gap)
        : extent_{problems, rows, columns},
          nesting_(nesting),
          gap_(gap),
          source_(size_of(view_at<T>(nullptr, extent_, nesting, gap))) {
        for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = T(RealOf<T>(i + 1));
    }

    /// Copies matrices that begin anywhere in a chunk of 16 bytes to others, with entries before,
    /// between and behind them that must not change.
    void expect_to(const Nesting& nesting, int gap, int shift, int its_shift) const {
        SCOPED_TRACE(testing::Message()
                     << rows << " x " << columns << ", " << extent_[0] << " problems "
                     << nesting_.name << ", gap " << gap_ << ", from " << shift << " to "
                     << nesting.name << ", gap " << gap << ", at " << its_shift);
        const auto from = view_at<const T>(source_.data() + shift, extent_, nesting_, gap_);
        auto to = view_at<T>(nullptr, extent_, nesting, gap);
        std::vector<T> target(size_of(to), T(RealOf<T>(-1))), expected(target);
        to.data = expected.data() + its_shift;
        for (index_t p = 0; p < extent_[0]; ++p) {
            for (int i = 0; i < rows; ++i) {
                for (int j = 0; j < columns; ++j) to(p, i, j) = from(p, i, j);
            }
        }
        to.data = target.data() + its_shift;
        core::Simt simt(core::LaneOrder::random, 5);
        core::launch(simt, copy_staged<T, rows, columns, lanes>,
                     core::LaunchConfig{dim3(core::blocks_for(extent_[0], rows_threads / lanes)),
                                        dim3(rows_threads),
                                        std::size_t(rows_shared_bytes<T>(rows, columns, lanes))},
                     from, to);
        ASSERT_TRUE(tests::same_bytes(target, expected));
    }

  private:
    static std::size_t size_of(const KernelView<T, 3>& view) {
        index_t last = 0;
        for (int d = 0; d < 3; ++d) last += (view.extent[d] - 1) * view.stride[d];
        return std::size_t(2 * chunk_entries<T> + last + 1);
    }

    core::Extents<3> extent_;
    Nesting nesting_;
    int gap_;
    std::vector<T> source_;
};

template <class T, int rows, int columns, int lanes>
void expect_copied() {
    constexpr index_t of_block = rows_threads / lanes;
    constexpr int margin = chunk_entries<T>;
    for (const index_t problems : {of_block / 2 + 1, 2 * of_block - 1}) {
        for (const int gap : {0, 1}) {
            const Copies<T, rows, columns, lanes> copies(problems, by_rows, gap);
            for (int shift = 0; shift < margin; ++shift) {
                for (int its_shift = 0; its_shift < margin; ++its_shift) {
                    copies.expect_to(by_rows, gap, shift, its_shift);
                }
            }
        }
        for (const Nesting& nesting : all_nestings) {
            // Rows and columns may begin on chunks or not.
            for (const int gap : {0, 3, 4}) {
                const Copies<T, rows, columns, lanes> copies(problems, nesting, gap);
                copies.expect_to(nesting, gap, 0, 0);
                copies.expect_to(by_rows, 4 - gap, 0, 1);
            }
        }
    }
}

TEST(StagedMatrices, MayHaveAnyLayout) {
    expect_copied<float, 1, 1, 2>();
    expect_copied<float, 1, 2, 32>();
    expect_copied<float, 1, 8, 16>();
    expect_copied<float, 3, 3, 1>();
    expect_copied<float, 4, 4, 4>();
    expect_copied<float, 5, 5, 8>();
    expect_copied<float, 6, 6, 4>();
    expect_copied<float, 9, 7, 4>();
    expect_copied<float, 12, 12, 16>();
    expect_copied<float, 40, 36, 32>();
    expect_copied<double, 2, 2, 4>();
    expect_copied<double, 3, 5, 16>();
    expect_copied<double, 16, 16, 8>();
    expect_copied<core::Complex<double>, 5, 4, 8>();
}

}  // namespace
}  // namespace aperture::dense
