// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_pivots.hpp"

/// What the solvers on problems in lanes share.
namespace aperture::dense::lanes {

/// Writes info; returns whether any of the problems failed.
template <Scalar T>
bool report(const Info<T>& of_lanes, core::index_t first, int problems,
            core::View<int, 1, core::Host> info) {
    if (problems == width<T> && info.stride[0] == 1) {
        using Numbers = typename core::PackLike<int, Real<T>>::type;
        const Numbers numbers = __builtin_convertvector(of_lanes, Numbers);
        std::memcpy(&info(first), &numbers, sizeof(numbers));
        return any(of_lanes);
    }
    bool failed = false;
    for (int l = 0; l < problems; ++l) {
        info(first + l) = static_cast<int>(of_lanes[l]);
        failed = failed || of_lanes[l] != 0;
    }
    return failed;
}

/// Sets the elements of failed problems to zero.
template <Scalar T>
void clear_failed(const Info<T>& info, int rows, int columns, const Matrix<T>& x) {
    for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < columns; ++i) {
            x.store(r, i, select(info == 0, x.load(r, i), Element<T>{}));
        }
    }
}

/// Stores a matrix whose lanes lie in the order of another batch.
template <Scalar T>
void store_as(int rows, int columns, const Matrix<T>& from, Order its_order,
              const MatrixBatch<T, core::Host>& batch, core::index_t first, int problems,
              Scratch<T> scratch, Ahead* ahead = nullptr) {
    const Order order = order_of(batch);
    if (order == Order::problems || (order == Order::rows) == (its_order == Order::rows)) {
        store_lanes<T>(from, batch, first, problems, ahead);
    } else {
        const Matrix<T> turned = scratch.like(batch);
        copy(rows, columns, from, turned);
        store_lanes<T>(turned, batch, first, problems, ahead);
    }
}

/// Right-hand sides in the rows of `x`, as many at a time as stay in the second-level cache beside
/// a factor.
template <Scalar T>
class RightHandSides {
  public:
    explicit RightHandSides(const MatrixBatch<T, core::Host>& x) : x_(x) {
        constexpr std::ptrdiff_t bytes = 256 * 1024;
        constexpr std::ptrdiff_t step = tile_rows<T>;
        const core::index_t n = x.extent[2];
        const std::ptrdiff_t row_bytes = element_reals<T> *
                                         static_cast<std::ptrdiff_t>(sizeof(Real<T>)) *
                                         std::max<core::index_t>(n, 1);
        all_ = n == 0 ? 0 : x.extent[1];
        at_once_ = std::min<core::index_t>(std::max(bytes / row_bytes / step * step, step), all_);
    }

    core::index_t count() const { return all_; }
    std::ptrdiff_t elements() const { return matrix_elements(at_once_, x_.extent[2]); }

    /// Calls solve(rows, part) for parts of the right-hand sides in lanes, which it overwrites.
    template <class Solve>
    void for_each_part(core::index_t first, int problems, Scratch<T> scratch,
                       const Solve& solve) const {
        const Matrix<T> block = scratch.matrix(at_once_, x_.extent[2], order_of(x_));
        for (core::index_t r = 0; r < all_; r += at_once_) {
            const auto part = x_.slice(1, r, std::min(r + at_once_, all_));
            load_lanes<T>(part, first, problems, Part::all, block);
            solve(static_cast<int>(part.extent[1]), block);
            store_lanes<T>(block, part, first, problems);
        }
    }

  private:
    MatrixBatch<T, core::Host> x_;
    core::index_t all_;
    core::index_t at_once_;
};

}  // namespace aperture::dense::lanes
