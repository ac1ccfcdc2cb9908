// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/cpu/product_sums.hpp"
#include "libdense/cpu/qr_tree.hpp"

namespace aperture::dense::tall {

/// Computes R with gram = R^T R in fp64; returns false if a pivot is not positive and finite.
inline bool factor_gram(const core::Cpu& cpu, core::View<const double, 2, core::Host> gram,
                        core::View<double, 2, core::Host> r) {
    const index_t order = gram.extent[0];
    for (index_t i = 0; i < order; ++i) {
        for (index_t j = 0; j < order; ++j) r(i, j) = j < i ? 0 : gram(i, j);
    }
    for (index_t k = 0; k < order; ++k) {
        cpu.checkpoint();
        const double pivot = r(k, k);
        if (!(pivot > 0) || !std::isfinite(pivot)) return false;
        const double scale = 1 / std::sqrt(pivot);
        for (index_t j = k; j < order; ++j) r(k, j) *= scale;
        for (index_t i = k + 1; i < order; ++i) {
            const double factor = r(k, i);
            for (index_t j = i; j < order; ++j) r(i, j) -= factor * r(k, j);
        }
    }
    return true;
}

/// r = left r for upper triangles.
inline void multiply_from_left(const core::Cpu& cpu, core::View<const double, 2, core::Host> left,
                               core::View<double, 2, core::Host> r) {
    const index_t order = r.extent[0];
    for (index_t i = 0; i < order; ++i) {
        cpu.checkpoint();
        for (index_t j = order; j-- > i;) {
            double sum = 0;
            for (index_t k = i; k <= j; ++k) sum += left(i, k) * r(k, j);
            r(i, j) = sum;
        }
    }
}

/// Solves X R = Q in place for `columns` columns from `first` on and product_packs packs of rows;
/// the columns before hold X. `factor` is -R with 1 / R_jj on the diagonal.
template <class T, int columns>
void solve_tile(T* q, index_t stride, index_t first, const T* factor) {
    constexpr int lanes = core::lanes<T>;
    core::Pack<T> x[columns][product_packs];
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
#pragma GCC unroll 4
        for (int p = 0; p < product_packs; ++p) {
            x[j][p] = core::load(q + (first + j) * stride + p * lanes);
        }
    }
    for (index_t k = 0; k < first; ++k, factor += columns) {
        core::Pack<T> value[product_packs];
#pragma GCC unroll 4
        for (int p = 0; p < product_packs; ++p) value[p] = core::load(q + k * stride + p * lanes);
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
            const core::Pack<T> f = core::broadcast(factor[j]);
#pragma GCC unroll 4
            for (int p = 0; p < product_packs; ++p) x[j][p] += f * value[p];
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < columns; ++k, factor += columns) {
#pragma GCC unroll 4
        for (int p = 0; p < product_packs; ++p) {
            x[k][p] *= core::broadcast(factor[k]);
            core::store(q + (first + k) * stride + p * lanes, x[k][p]);
        }
#pragma GCC unroll 16
        for (int j = k + 1; j < columns; ++j) {
            const core::Pack<T> f = core::broadcast(factor[j]);
#pragma GCC unroll 4
            for (int p = 0; p < product_packs; ++p) x[j][p] += f * x[k][p];
        }
    }
}

template <class T>
void solve_rows(T* q, index_t stride, const Factor<T>& factor) {
    const T* elements = factor.elements.data();
    for (index_t tile = 0; tile < factor.tiles(); ++tile) {
        factor.with_width(tile, [&]<int columns>(std::integral_constant<int, columns>) {
            solve_tile<T, columns>(q, stride, factor.first_column(tile), elements);
            elements += columns * factor.rows;
        });
    }
}

/// R of the Gram matrix, Q = A R^-1, and the same again for that Q; the tree if Q would not be
/// orthonormal.
template <class T>
class CholeskyFactors final : public HostFactors<T> {
  public:
    CholeskyFactors(core::Cpu& cpu, index_t rows, index_t columns)
        : HostFactors<T>(cpu), layout_{columns, rows, 0}, tree_(cpu, rows, columns) {}

    void factor(MatrixView<const T> a, MatrixView<T> r, bool keep) override {
        if (!gram_sums_) allocate();
        fell_back_ = !orthonormalise(a);
        if (fell_back_) return tree_.factor(a, r, keep);
        for (index_t i = 0; i < layout_.columns; ++i) {
            for (index_t j = 0; j < layout_.columns; ++j) r(i, j) = static_cast<T>(r_(i, j));
        }
    }
    bool fell_back() const override { return fell_back_; }
    index_t bytes() const override {
        const index_t square = layout_.columns * layout_.columns;
        return (layout_.size() + square) * static_cast<index_t>(sizeof(T)) +
               3 * square * static_cast<index_t>(sizeof(double)) +
               ProductSums<T, double>::bytes(layout_) + tree_.bytes();
    }

    void apply_transposed(MatrixView<const T> c, MatrixView<T> x) override {
        if (fell_back_) return tree_.apply_transposed(c, x);
        for (index_t j = 0; j < c.extent[1]; ++j) {
            // A task computes one row of x, with the rows of Q in a fixed order.
            core::for_each_task(cpu_, layout_.columns, 0, [&](index_t i, std::byte* /*scratch*/) {
                double sum = 0;
                for (index_t b = 0; b < layout_.blocks(); ++b) {
                    const T* const q = q_.data() + b * layout_.block_reals() + i * layout_.stride;
                    for (index_t row = 0; row < layout_.rows_of(b); ++row) {
                        sum += double(q[row]) * double(c(b * layout_.block_rows + row, j));
                    }
                }
                x(i, j) = static_cast<T>(sum);
            });
        }
    }

    void apply(MatrixView<const T> x, MatrixView<T> c) override {
        if (fell_back_) return tree_.apply(x, c);
        const index_t n = layout_.columns;
        factor_.set(n, c.extent[1], [&](index_t i, index_t j) { return x(i, j); });
        const auto bytes = static_cast<std::size_t>(n * layout_.row_unit) * sizeof(T);
        core::for_each_task(cpu_, layout_.blocks(), bytes, [&](index_t b, std::byte* scratch) {
            auto* const product = reinterpret_cast<T*>(scratch);
            for (index_t row = 0; row < layout_.used_rows(b); row += layout_.row_unit) {
                multiply(q_.data() + b * layout_.block_reals() + row, layout_.stride, factor_,
                         product);
                store_columns<T>(product, layout_.row_unit, b * layout_.block_rows + row,
                                 std::min(layout_.row_unit, layout_.rows_of(b) - row), c);
            }
        });
    }

  private:
    void allocate() {
        const index_t n = layout_.columns;
        q_.reshape({layout_.size()});
        gram_sums_.emplace(layout_);
        for (core::Array<double, 2>* square : {&gram_, &step_, &r_}) square->reshape({n, n});
        factor_.reserve(n, n);
    }

    /// Returns false if Q would not be orthonormal.
    bool orthonormalise(MatrixView<const T> a) {
        for_each_part([&](index_t block, T* q) {
            load_padded(a, block * layout_.block_rows, layout_.rows_of(block), layout_.stride, q);
            std::fill(q + layout_.columns * layout_.stride, q + layout_.block_reals(), T(0));
        });
        std::fill(r_.begin(), r_.end(), 0.0);
        for (index_t i = 0; i < layout_.columns; ++i) r_(i, i) = 1;
        if (!step()) return false;
        // If ||Q^T Q - I|| is below 1/2, the next step reduces it to rounding level.
        return deviation() < 0.5 && step();
    }

    double deviation() const {
        double square = 0;
        for (index_t i = 0; i < layout_.columns; ++i) {
            for (index_t j = 0; j < layout_.columns; ++j) {
                const double error = gram_(i, j) - (i == j ? 1 : 0);
                square += error * error;
            }
        }
        return std::sqrt(square);
    }

    /// With the Cholesky factor R' of Q's Gram matrix: Q = Q R'^-1, R = R' R; then the new Gram
    /// matrix.
    bool step() {
        if (!factor_gram(cpu_, gram_, step_)) return false;
        multiply_from_left(cpu_, step_, r_);
        const index_t n = layout_.columns;
        factor_.set(n, n, [&](index_t i, index_t j) {
            if (i > j) return 0.0;
            return i == j ? 1 / step_(i, i) : -step_(i, j);
        });
        for_each_part([&](index_t block, T* q) {
            for (index_t row = 0; row < layout_.used_rows(block); row += layout_.row_unit) {
                solve_rows(q + row, layout_.stride, factor_);
            }
        });
        return true;
    }

    /// Calls work(block, its columns) for all blocks, and sums the Gram matrix of the result.
    template <class Work>
    void for_each_part(const Work& work) {
        ProductSums<T, double>& sums = *gram_sums_;
        core::for_each_task(cpu_, layout_.parts(), 0, [&](index_t part, std::byte* /*scratch*/) {
            sums.clear(part);
            for (index_t b = layout_.first_block(part); b < layout_.first_block(part + 1); ++b) {
                T* const q = q_.data() + b * layout_.block_reals();
                work(b, q);
                sums.add(part, b, q);
            }
        });
        sums.gather(gram_);
    }

    using HostFactors<T>::cpu_;
    ColumnBlocks<T> layout_;
    QrTree<T> tree_;
    core::Array<T, 1> q_;
    std::optional<ProductSums<T, double>> gram_sums_;
    core::Array<double, 2> gram_;
    core::Array<double, 2> step_;  ///< the factor of gram_
    core::Array<double, 2> r_;
    Factor<T> factor_;
    bool fell_back_ = false;
};

}  // namespace aperture::dense::tall
