// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// TallQr on a device. Host code, a template on the executor.

#include "libdense/gpu/cholesky_qr.cuh"
#include "libdense/gpu/tree_qr.cuh"

#if !defined(__CUDACC_RTC__)

#include <algorithm>
#include <memory>

#include "aperture/dense/tall_qr.hpp"

namespace aperture::dense::gpu {

/// Groups: see make_tree.
template <class T, class Executor, int Groups = 0>
class DeviceTallQr {
    using Factors = TallFactors<T, typename Executor::Space>;
    template <class U>
    using Matrix = typename Factors::template Matrix<U>;

  public:
    DeviceTallQr(Executor& executor, QrMethod method, index_t rows, index_t columns)
        : rows_(rows), columns_(columns) {
        core::expects(columns > 0 && rows >= columns,
                      "QR requires at least 1 column and as many rows, has ", rows, " x ", columns);
        if (method == QrMethod::cholesky2) {
            factors_ = std::make_unique<CholeskyQr<T, Executor, Groups>>(executor, rows, columns);
        } else {
            factors_ = make_tree<T, Executor, Groups>(executor, rows, columns);
        }
    }

    /// See TallQr.
    void factor(Matrix<const T> a, Matrix<T> r, bool keep) {
        expects_extents("A", a, rows_, columns_);
        expects_extents("R", r, columns_, columns_);
        factors_->factor(a, r, keep);
        kept_ = keep;
    }
    index_t find_r_bytes() const { return factors_->bytes(); }
    bool fell_back() const { return factors_->fell_back(); }
    void form_q(Matrix<T> q) {
        expects_q();
        expects_extents("Q", q, rows_, columns_);
        factors_->form_q(q);
    }
    void apply_q_transposed(Matrix<const T> c, Matrix<T> x) {
        expects_q();
        expects_extents("C", c, rows_, x.extent[1]);
        expects_extents("X", x, columns_, x.extent[1]);
        for_batches(x.extent[1], [&](index_t begin, index_t end) {
            factors_->apply_transposed(c.slice(1, begin, end), x.slice(1, begin, end));
        });
    }
    void apply_q(Matrix<const T> x, Matrix<T> c) {
        expects_q();
        expects_extents("X", x, columns_, c.extent[1]);
        expects_extents("C", c, rows_, c.extent[1]);
        for_batches(c.extent[1], [&](index_t begin, index_t end) {
            factors_->apply(x.slice(1, begin, end), c.slice(1, begin, end));
        });
    }

  private:
    template <class U>
    static void expects_extents(const char* what, const Matrix<U>& view, index_t rows,
                                index_t columns) {
        core::expects(view.extent[0] == rows && view.extent[1] == columns, what, " must be ", rows,
                      " x ", columns, ", is ", view.extent[0], " x ", view.extent[1]);
    }
    void expects_q() const { core::expects(kept_, "Q is not stored"); }

    template <class Work>
    void for_batches(index_t columns, const Work& work) {
        for (index_t begin = 0; begin < columns; begin += columns_) {
            work(begin, std::min(begin + columns_, columns));
        }
    }

    index_t rows_;
    index_t columns_;
    std::unique_ptr<Factors> factors_;
    bool kept_ = false;
};

}  // namespace aperture::dense::gpu

#endif
