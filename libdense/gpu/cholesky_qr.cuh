// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// QR of tall matrices by Cholesky factorisation of the Gram matrix. Host code, a template on the
// executor.

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "libcore/gpu/locked_pages.hpp"
#include "libdense/gpu/column_products.cuh"
#include "libdense/gpu/tree_qr.cuh"

namespace aperture::dense::gpu {

/// Gram matrices, Cholesky factors and quotients are in fp64 for every T. For fp32 matrices one
/// step suffices if the Gram matrix's rounding errors, bounded along with the quotient, stay below
/// fp32 rounding (Yamazaki, Tomov & Dongarra 2015). Otherwise a second step factors the quotient
/// (Yamamoto et al. 2015); if that would not suffice either, the tree does.
template <class T, class Executor>
class CholeskyQr final : public TallFactors<T, typename Executor::Space> {
    using Space = typename Executor::Space;
    using Base = TallFactors<T, Space>;
    template <class U>
    using Matrix = typename Base::template Matrix<U>;
    template <class U>
    using Buffer = core::Array<U, 1, Space>;
    using DivideShape = TallDivideShape<T>;

  public:
    CholeskyQr(Executor& executor, index_t rows, index_t columns)
        : executor_(executor),
          rows_(rows),
          columns_(columns),
          panels_(static_cast<int>(core::blocks_for(columns, panel_columns))),
          order_(index_t{panels_} * panel_columns),
          pitch_(core::round_up(rows, panel_columns)),
          warps_(warps_that_fit()),
          products_(executor),
          read_state_({0}, core::locked_pages<Space>()) {}

    void factor(Matrix<const T> a, Matrix<T> r, bool keep) override {
        fell_back_ = warps_ == 0 || !orthonormalise(a, r, keep);
        if (!fell_back_) return;
        if (!tree_) tree_ = make_tree<T>(executor_, rows_, columns_);
        tree_->factor(a, r, keep);
    }
    bool fell_back() const override { return fell_back_; }
    index_t bytes() const override {
        const index_t of_tree = make_tree<T>(executor_, rows_, columns_)->bytes();
        if (warps_ == 0) return of_tree;
        const index_t small = 3 * order_ * order_ + order_ + divisors_size() + 1 + panels_;
        return of_tree + small * static_cast<index_t>(sizeof(double)) +
               columns_ * pitch_ * static_cast<index_t>(sizeof(T)) +
               products_.gram_bytes(rows_, columns_);
    }

    void form_q(Matrix<T> q) override {
        if (fell_back_) return tree_->form_q(q);
        copy_matrix<T>(executor_, by_columns(q_), core::kernel_view(q), CopyPart::all);
    }
    void apply_transposed(Matrix<const T> c, Matrix<T> x) override {
        if (fell_back_) return tree_->apply_transposed(c, x);
        products_.find(by_columns(q_), columns_of(c, other_), core::kernel_view(x));
    }
    void apply(Matrix<const T> x, Matrix<T> c) override {
        if (fell_back_) return tree_->apply(x, c);
        multiply_columns<T>(executor_, by_columns(q_), core::kernel_view(x), core::kernel_view(c));
    }

  private:
    /// Warps of tall_divide_kernel; 0 if shared memory does not even hold the columns of one.
    int warps_that_fit() const {
        int warps = DivideShape::most_warps;
        const int limit = executor_.shared_memory_per_block();
        while (warps > 0 && DivideShape::shared_bytes(warps, panels_) > limit) warps /= 2;
        return warps;
    }
    index_t divisors_size() const { return triangle_tile(0, panels_) * WarpTile::elements; }
    KernelView<T, 2> by_columns(Buffer<T>& buffer) const {
        return {buffer.data(), {rows_, columns_}, {1, pitch_}};
    }
    /// The matrix itself if its columns are contiguous and aligned, otherwise a copy.
    KernelView<const T, 2> columns_of(Matrix<const T> a, Buffer<T>& copied) {
        const bool aligned = reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0 &&
                             (a.extent[1] == 1 || a.stride[1] % RowPiece<T>::size == 0);
        if (a.stride[0] == 1 && aligned) return core::kernel_view(a);
        reserve(copied);
        const KernelView<T, 2> copy = by_columns(copied).slice(1, 0, a.extent[1]);
        copy_matrix<T>(executor_, core::kernel_view(a), copy, CopyPart::all);
        return copy;
    }
    void reserve(Buffer<T>& buffer) {
        if (buffer.size() == 0) buffer = Buffer<T>({columns_ * pitch_});
    }

    /// Returns false if Q would not be orthonormal.
    bool orthonormalise(Matrix<const T> a, Matrix<T> r, bool keep) {
        constexpr double of_sums = std::numeric_limits<double>::epsilon() / 2;
        constexpr double enough = std::numeric_limits<T>::epsilon() / 8;
        state_.reshape({1 + panels_});
        read_state_.reshape({1 + panels_});
        gram_.reshape({order_ * order_});
        sizes_.reshape({order_});
        divisors_.reshape({divisors_size()});
        for (Buffer<double>& total : totals_) total.reshape({order_ * order_});
        KernelView<const T, 2> from = columns_of(a, q_);
        bool was_near = false;
        for (int step = 0;; ++step) {
            find_divisors(from);
            multiply_totals(step, r);
            const bool may_be_last = was_near || of_sums < enough;
            const bool divides = keep || !may_be_last;
            divide(from, divides);
            core::copy(executor_, std::as_const(state_).view(), read_state_.view());
            executor_.synchronize();
            if (read_state_.data()[0] != 0) return false;
            if (was_near) return true;
            double growth = 0;
            for (int p = 0; p < panels_; ++p) growth += read_state_.data()[1 + p];
            // Errors of the sums of products and of the Cholesky factor.
            const double deviation = of_sums * (100 + static_cast<double>(columns_)) * growth;
            if (deviation <= enough) return true;
            // The next step reduces Q^T Q - I to rounding level.
            was_near = deviation <= 0.25;
            if (!was_near) return false;
            if (!divides) divide(from, true);
            from = by_columns(q_);
        }
    }
    void find_divisors(const KernelView<const T, 2>& from) {
        products_.find_gram(from, KernelView<double, 2>{gram_.data(), {order_, order_}});
        core::launch(executor_, &tall_cholesky_kernel<>,
                     core::LaunchConfig(dim3(1), dim3(TallCholeskyShape::threads),
                                        TallCholeskyShape::shared_bytes),
                     TallCholeskyArguments{gram_.data(), panels_, static_cast<int>(columns_),
                                           divisors_.data(), sizes_.data(), state_.data()});
    }
    void multiply_totals(int step, Matrix<T> r) {
        core::launch(
            executor_, &triangle_product_kernel<T>,
            core::LaunchConfig(dim3(static_cast<unsigned>(order_)), dim3(triangle_threads)),
            TriangleProductArguments<T>{gram_.data(),
                                        step == 0 ? nullptr : totals_[(step + 1) % 2].data(),
                                        order_, totals_[step % 2].data(), core::kernel_view(r)});
    }
    /// Bounds the error growth; if `writes`, also computes Q = from R^-1.
    void divide(const KernelView<const T, 2>& from, bool writes) {
        if (writes) reserve(q_);
        const unsigned of_sizes = core::blocks_for(panels_, warps_);
        const unsigned of_rows = writes ? core::blocks_for(rows_, warps_ * WarpTile::rows) : 0;
        core::launch(
            executor_, &tall_divide_kernel<T>,
            core::LaunchConfig(
                dim3(of_sizes + of_rows), dim3(static_cast<unsigned>(warps_ * core::warp_size)),
                static_cast<std::size_t>(DivideShape::shared_bytes(warps_, panels_))),
            TallDivideArguments<T>{from, q_.data(), pitch_, panels_, divisors_.data(),
                                   sizes_.data(), static_cast<int>(of_sizes), state_.data() + 1});
    }

    Executor& executor_;
    index_t rows_;
    index_t columns_;
    int panels_;
    index_t order_;  ///< columns rounded up to whole panels
    index_t pitch_;
    int warps_;
    ColumnProducts<T, Executor> products_;
    Buffer<double> state_;  ///< whether Cholesky failed; then partial sums of the error growth
    core::Array<double, 1> read_state_;
    Buffer<double> gram_;
    Buffer<double> sizes_;
    Buffer<double> divisors_;
    Buffer<double> totals_[2];  ///< the accumulated R, double-buffered
    Buffer<T> q_;
    Buffer<T> other_;  ///< aligned copy of the matrix that Q^T is applied to
    std::unique_ptr<Base> tree_;
    bool fell_back_ = false;
};

}  // namespace aperture::dense::gpu
