// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// QR of tall matrices column by column. Host code, a template on the executor.

#include "libdense/gpu/column_reflectors.cuh"
#include "libdense/gpu/tall_factors.cuh"

#if !defined(__CUDACC_RTC__)

#include <algorithm>

namespace aperture::dense::gpu {

template <class T, class Executor>
class ColumnQr final : public TallFactors<T, typename Executor::Space> {
    using Base = TallFactors<T, typename Executor::Space>;
    template <class U>
    using Matrix = typename Base::template Matrix<U>;
    template <class U>
    using Buffer = core::Array<U, 1, typename Executor::Space>;

  public:
    ColumnQr(Executor& executor, index_t rows, index_t columns)
        : executor_(executor),
          rows_(rows),
          columns_(columns),
          range_((rows + row_blocks() - 1) / row_blocks()) {}

    void factor(Matrix<const T> a, Matrix<T> r, bool /*keep*/) override {
        matrix_.reshape({rows_ * columns_});
        sizes_.reshape({columns_});
        reflectors_.reshape({columns_});
        parts_.reshape({row_blocks() * columns_});
        tops_.reshape({columns_});
        copy_matrix<T>(executor_, core::kernel_view(a), dense(matrix_, columns_), CopyPart::all);
        launch_columns(&scale_columns_kernel<T>, matrix_.data(), rows_, rows_, sizes_.data());
        for (index_t j = 0; j < columns_; ++j) {
            turn(j, matrix_.data() + j * rows_, columns_ - j, true);
        }
        launch_columns(&write_column_r_kernel<T>, matrix_.data(), rows_, sizes_.data(),
                       reflectors_.data(), core::kernel_view(r));
    }
    index_t bytes() const override {
        constexpr auto of_column = static_cast<index_t>(sizeof(ColumnReflector));
        return columns_ * (rows_ * static_cast<index_t>(sizeof(T)) + of_column +
                           (row_blocks() + 2) * static_cast<index_t>(sizeof(double)));
    }
    void form_q(Matrix<T> q) override {
        apply({nullptr, q.extent}, core::kernel_view(q), CopyPart::identity);
    }
    void apply_transposed(Matrix<const T> c, Matrix<T> x) override {
        reserve_turned();
        copy_matrix<T>(executor_, core::kernel_view(c), dense(turned_, c.extent[1]), CopyPart::all);
        for (index_t j = 0; j < columns_; ++j) turn(j, turned_.data(), c.extent[1], false);
        copy_matrix<T>(executor_, dense(turned_, c.extent[1]), core::kernel_view(x), CopyPart::all);
    }
    void apply(Matrix<const T> x, Matrix<T> c) override {
        apply(core::kernel_view(x), core::kernel_view(c), CopyPart::all);
    }

  private:
    /// Ranges of rows: enough to fill the device.
    index_t row_blocks() const {
        return std::min<index_t>(2 * executor_.multiprocessors(),
                                 (rows_ + ColumnShape::threads - 1) / ColumnShape::threads);
    }
    KernelView<T, 2> dense(Buffer<T>& buffer, index_t columns) const {
        return {buffer.data(), {rows_, columns}, {1, rows_}};
    }

    template <class... Parameters, class... Arguments>
    void launch_columns(void (*kernel)(Parameters...), Arguments... arguments) {
        core::launch(executor_, kernel,
                     core::LaunchConfig(dim3(static_cast<unsigned>(columns_)),
                                        dim3(ColumnShape::threads), ColumnShape::shared_bytes),
                     arguments...);
    }
    /// Applies reflector j to `columns` columns of c. With `finds` it is computed first, from
    /// column 0 of c.
    void turn(index_t j, T* c, index_t columns, bool finds) {
        const core::LaunchConfig config(
            dim3(
                static_cast<unsigned>(row_blocks()),
                static_cast<unsigned>((columns + ColumnShape::columns - 1) / ColumnShape::columns)),
            dim3(ColumnShape::threads), ColumnShape::shared_bytes);
        const ColumnArguments<T> arguments{matrix_.data() + j * rows_,
                                           j,
                                           rows_,
                                           c,
                                           rows_,
                                           static_cast<int>(columns),
                                           range_,
                                           parts_.data(),
                                           tops_.data(),
                                           reflectors_.data() + j,
                                           finds};
        core::launch(executor_, &column_products_kernel<T>, config, arguments);
        core::launch(executor_, &column_turn_kernel<T>, config, arguments);
    }

    /// to = Q from.
    void apply(const KernelView<const T, 2>& from, const KernelView<T, 2>& to, CopyPart part) {
        reserve_turned();
        copy_matrix<T>(executor_, from, dense(turned_, to.extent[1]), part);
        for (index_t j = columns_; j-- > 0;) turn(j, turned_.data(), to.extent[1], false);
        copy_matrix<T>(executor_, dense(turned_, to.extent[1]), to, CopyPart::all);
    }
    void reserve_turned() {
        if (turned_.size() == 0) turned_ = Buffer<T>({rows_ * columns_});
    }

    Executor& executor_;
    index_t rows_;
    index_t columns_;
    index_t range_;
    Buffer<T> matrix_;  ///< scaled columns; becomes R and the unscaled reflectors
    Buffer<double> sizes_;
    Buffer<ColumnReflector> reflectors_;
    Buffer<double> parts_;
    Buffer<double> tops_;
    Buffer<T> turned_;  ///< the matrix that Q is applied to, with as many columns as A
};

}  // namespace aperture::dense::gpu

#endif
