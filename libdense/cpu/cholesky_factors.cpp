// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/cpu/gram_sums.hpp"
#include "libdense/cpu/tall_factors.hpp"

namespace aperture::dense::tall {
namespace {

/// An upper triangular matrix in fp64, row-major.
class Triangle {
  public:
    explicit Triangle(index_t order)
        : order_(order), elements_(static_cast<std::size_t>(order * order), 0.0) {}

    double& operator()(index_t i, index_t j) { return elements_[std::size_t(i * order_ + j)]; }
    double operator()(index_t i, index_t j) const { return elements_[std::size_t(i * order_ + j)]; }

    void set_identity() {
        std::fill(elements_.begin(), elements_.end(), 0.0);
        for (index_t i = 0; i < order_; ++i) (*this)(i, i) = 1;
    }

    /// Computes R with gram = R^T R; returns false if a pivot is not positive and finite.
    bool factor(core::View<const double, 2, core::Host> gram) {
        std::fill(elements_.begin(), elements_.end(), 0.0);
        for (index_t i = 0; i < order_; ++i) {
            for (index_t j = i; j < order_; ++j) (*this)(i, j) = gram(i, j);
        }
        for (index_t k = 0; k < order_; ++k) {
            const double pivot = (*this)(k, k);
            if (!(pivot > 0) || !std::isfinite(pivot)) return false;
            const double scale = 1 / std::sqrt(pivot);
            for (index_t j = k; j < order_; ++j) (*this)(k, j) *= scale;
            for (index_t i = k + 1; i < order_; ++i) {
                const double factor = (*this)(k, i);
                for (index_t j = i; j < order_; ++j) (*this)(i, j) -= factor * (*this)(k, j);
            }
        }
        return true;
    }

    /// Replaces this triangle by left times it.
    void multiply_from_left(const Triangle& left) {
        for (index_t i = 0; i < order_; ++i) {
            for (index_t j = order_; j-- > i;) {
                double sum = 0;
                for (index_t k = i; k <= j; ++k) sum += left(i, k) * (*this)(k, j);
                (*this)(i, j) = sum;
            }
        }
    }

  private:
    index_t order_;
    std::vector<double> elements_;
};

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

template <class T>
class CholeskyFactors final : public TallFactors<T> {
  public:
    CholeskyFactors(index_t rows, index_t columns)
        : layout_{columns, rows, 0},
          q_({layout_.size()}),
          gram_sums_(layout_),
          gram_({columns, columns}),
          step_(columns),
          r_(columns) {
        factor_.reserve(columns, columns);
        // Zero padding behind the last columns and rows.
        std::fill(q_.begin(), q_.end(), T(0));
    }

    void factor(core::Cpu& cpu, MatrixView<const T> a, MatrixView<T> r, bool keep) override {
        fell_back_ = !orthonormalise(cpu, a);
        if (fell_back_) {
            if (!tree_) tree_ = make_tree_factors<T>(layout_.rows, layout_.columns);
            tree_->factor(cpu, a, r, keep);
            return;
        }
        for (index_t i = 0; i < layout_.columns; ++i) {
            for (index_t j = 0; j < layout_.columns; ++j) r(i, j) = static_cast<T>(r_(i, j));
        }
    }
    bool fell_back() const override { return fell_back_; }

    void apply_transposed(core::Cpu& cpu, MatrixView<const T> c, MatrixView<T> x) override {
        if (fell_back_) return tree_->apply_transposed(cpu, c, x);
        for (index_t j = 0; j < c.extent[1]; ++j) {
            // A task computes some columns of Q^T, with the rows in a fixed order.
            core::for_each_task(cpu, layout_.columns, 0, [&](index_t i, std::byte* /*scratch*/) {
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

    void apply(core::Cpu& cpu, MatrixView<const T> x, MatrixView<T> c) override {
        if (fell_back_) return tree_->apply(cpu, x, c);
        const index_t columns = c.extent[1];
        const index_t n = layout_.columns;
        for (index_t first = 0; first < columns; first += n) {
            const index_t end = std::min(first + n, columns);
            factor_.set(n, end - first, [&](index_t i, index_t j) { return x(i, first + j); });
            const auto bytes = static_cast<std::size_t>(n * layout_.row_unit) * sizeof(T);
            const auto of_block = [&](index_t b, std::byte* scratch) {
                auto* const product = reinterpret_cast<T*>(scratch);
                for (index_t row = 0; row < layout_.used_rows(b); row += layout_.row_unit) {
                    multiply(q_.data() + b * layout_.block_reals() + row, layout_.stride, factor_,
                             product);
                    store_columns<T>(product, layout_.row_unit, b * layout_.block_rows + row,
                                     std::min(layout_.row_unit, layout_.rows_of(b) - row),
                                     c.slice(1, first, end));
                }
            };
            core::for_each_task(cpu, layout_.blocks(), bytes, of_block);
        }
    }

  private:
    /// Returns false if Q would not be orthonormal.
    bool orthonormalise(core::Cpu& cpu, MatrixView<const T> a) {
        load(cpu, a);
        r_.set_identity();
        if (!step(cpu)) return false;
        // If ||Q^T Q - I|| is below 1/2, the next step reduces it to rounding level.
        return deviation() < 0.5 && step(cpu);
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

    void load(core::Cpu& cpu, MatrixView<const T> a) {
        for_each_part(cpu, [&](index_t block, T* q) {
            const index_t rows = layout_.rows_of(block);
            load_columns(a, block * layout_.block_rows, rows, layout_.stride, q);
            for (index_t j = 0; j < layout_.columns; ++j) {
                std::fill(q + j * layout_.stride + rows, q + (j + 1) * layout_.stride, T(0));
            }
        });
    }

    /// With the Cholesky factor R' of Q's Gram matrix: Q = Q R'^-1, R = R' R; then the new Gram
    /// matrix.
    bool step(core::Cpu& cpu) {
        if (!step_.factor(std::as_const(gram_).view())) return false;
        r_.multiply_from_left(step_);
        const index_t n = layout_.columns;
        factor_.set(n, n, [&](index_t i, index_t j) {
            if (i > j) return 0.0;
            return i == j ? 1 / step_(i, i) : -step_(i, j);
        });
        for_each_part(cpu, [&](index_t block, T* q) {
            for (index_t row = 0; row < layout_.used_rows(block); row += layout_.row_unit) {
                solve_rows(q + row, layout_.stride, factor_);
            }
        });
        return true;
    }

    /// Calls work(block, its columns) for all blocks, and sums the Gram matrix of the result.
    template <class Work>
    void for_each_part(core::Cpu& cpu, const Work& work) {
        core::for_each_task(cpu, gram_sums_.parts(), 0, [&](index_t part, std::byte* /*scratch*/) {
            gram_sums_.clear(part);
            for (index_t b = gram_sums_.first_block(part); b < gram_sums_.first_block(part + 1);
                 ++b) {
                T* const q = q_.data() + b * layout_.block_reals();
                work(b, q);
                gram_sums_.add(part, b, q, GramSum::fp64);
            }
        });
        gram_sums_.gather(gram_);
    }

    ColumnBlocks<T> layout_;
    core::Array<T, 1> q_;
    GramSums<T> gram_sums_;
    core::Array<double, 2> gram_;
    Triangle step_;
    Triangle r_;
    Factor<T> factor_;
    std::unique_ptr<TallFactors<T>> tree_;
    bool fell_back_ = false;
};

}  // namespace

template <class T>
std::unique_ptr<TallFactors<T>> make_cholesky_factors(index_t rows, index_t columns) {
    return std::make_unique<CholeskyFactors<T>>(rows, columns);
}

template <class T>
index_t cholesky_factors_bytes(index_t rows, index_t columns, int threads) {
    const ColumnBlocks<T> layout{columns, rows, 0};
    const index_t square = columns * columns;
    return (layout.size() + square) * static_cast<index_t>(sizeof(T)) +
           3 * square * static_cast<index_t>(sizeof(double)) + GramSums<T>::bytes(layout) +
           tree_factors_bytes<T>(rows, columns, threads);
}

template std::unique_ptr<TallFactors<float>> make_cholesky_factors(index_t, index_t);
template std::unique_ptr<TallFactors<double>> make_cholesky_factors(index_t, index_t);
template index_t cholesky_factors_bytes<float>(index_t, index_t, int);
template index_t cholesky_factors_bytes<double>(index_t, index_t, int);

}  // namespace aperture::dense::tall
