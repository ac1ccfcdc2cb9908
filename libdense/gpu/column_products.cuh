// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of tall matrices with each other and with small matrices, in fp64 on tensor cores. Host
// code, a template on the executor.

#include <algorithm>

#include "aperture/core/array.hpp"
#include "libdense/gpu/copy_matrix.cuh"
#include "libdense/gpu/tall_gram.cuh"
#include "libdense/gpu/tall_products.cuh"

namespace aperture::dense::gpu {

/// left^T right for tall matrices: partial sums over ranges of rows, one per multiprocessor, are
/// added up in a fixed order.
template <class T, class Executor>
class ColumnProducts {
    using Shape = TallGramShape<T>;
    using SmallShape = TallGramShape<T, true>;

  public:
    explicit ColumnProducts(Executor& executor)
        : executor_(executor),
          is_small_(Shape::shared_bytes > executor.shared_memory_per_block()) {}

    /// `to` has the columns of both, possibly rounded up to whole panels of 32 and filled with
    /// zeros.
    template <class U>
    void find(const KernelView<const T, 2>& left, const KernelView<const T, 2>& right,
              const KernelView<U, 2>& to) {
        find({sides(left.extent[1]), sides(right.extent[1]), false}, left, right, to);
    }
    /// columns^T columns.
    template <class U>
    void find_gram(const KernelView<const T, 2>& columns, const KernelView<U, 2>& to) {
        find({sides(columns.extent[1]), sides(columns.extent[1]), true}, columns, columns, to);
    }

    /// Allocates at once what `find` and `find_gram` would otherwise allocate as they need it.
    void reserve(index_t bytes) { parts_.reshape({bytes / static_cast<index_t>(sizeof(double))}); }
    /// Bytes that `find` of matrices of so many rows and columns needs, and `find_gram`.
    index_t bytes(index_t rows, index_t left, index_t right) const {
        return bytes({sides(left), sides(right), false}, rows);
    }
    index_t gram_bytes(index_t rows, index_t columns) const {
        return bytes({sides(columns), sides(columns), true}, rows);
    }

  private:
    static int sides(index_t columns) { return TallSides::of(columns); }
    index_t bytes(const TallSides& sides, index_t rows) const {
        return (is_small_ ? Ranges<SmallShape>(executor_, sides, rows).elements()
                          : Ranges<Shape>(executor_, sides, rows).elements()) *
               static_cast<index_t>(sizeof(double));
    }
    /// Ranges of rows, one per multiprocessor.
    template <class ItsShape>
    struct Ranges {
        int pairs;
        index_t range;  ///< stages of rows
        int count;

        Ranges(const Executor& executor, const TallSides& sides, index_t rows)
            : pairs(sides.pairs()) {
            const index_t blocks = std::max(1, executor.multiprocessors() / pairs);
            const index_t steps = core::blocks_for(rows, ItsShape::rows);
            range = core::blocks_for(steps, blocks);
            count = static_cast<int>(core::blocks_for(steps, range));
        }
        index_t elements() const {
            return index_t{pairs} * count * ItsShape::tiles * WarpTile::elements;
        }
    };

    template <class U>
    void find(const TallSides& sides, const KernelView<const T, 2>& left,
              const KernelView<const T, 2>& right, const KernelView<U, 2>& to) {
        const int ranges = is_small_ ? find_parts<SmallShape>(sides, left, right)
                                     : find_parts<Shape>(sides, left, right);
        using Gather = TallGatherShape;
        core::launch(executor_, &tall_gather_kernel<U>,
                     core::LaunchConfig(dim3(core::blocks_for(to.extent[1], panel_columns),
                                             core::blocks_for(to.extent[0], panel_columns) *
                                                 panel_columns / Gather::rows),
                                        dim3(Gather::threads), Gather::shared_bytes),
                     TallGatherArguments<U>{parts_.data(), ranges, sides, to});
    }
    /// Returns the number of ranges.
    template <class ItsShape>
    int find_parts(const TallSides& sides, const KernelView<const T, 2>& left,
                   const KernelView<const T, 2>& right) {
        const Ranges<ItsShape> ranges(executor_, sides, left.extent[0]);
        parts_.reshape({ranges.elements()});
        core::launch(executor_, &tall_gram_kernel<ItsShape>,
                     core::LaunchConfig(dim3(static_cast<unsigned>(ranges.count),
                                             static_cast<unsigned>(ranges.pairs)),
                                        dim3(ItsShape::threads), ItsShape::shared_bytes),
                     TallGramArguments<T>{left, right, sides.symmetric,
                                          ranges.range * ItsShape::rows, parts_.data()});
        return ranges.count;
    }

    using Space = typename Executor::Space;
    Executor& executor_;
    bool is_small_;
    core::Array<double, 1, Space> parts_;
};

/// to = columns factor.
template <class T, class Executor>
void multiply_columns(Executor& executor, const KernelView<const T, 2>& columns,
                      const KernelView<const T, 2>& factor, const KernelView<T, 2>& to) {
    using Shape = TallMultiplyShape;
    core::launch(
        executor, &tall_multiply_kernel<T>,
        core::LaunchConfig(dim3(core::blocks_for(to.extent[0], Shape::warps * WarpTile::rows),
                                core::blocks_for(to.extent[1], panel_columns)),
                           dim3(Shape::threads), Shape::shared_bytes),
        TallMultiplyArguments<T>{columns, factor, to});
}

}  // namespace aperture::dense::gpu
