// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// TallQr on a device. Host code, a template on the executor.

#include "libdense/gpu/copy_matrix.cuh"
#include "libdense/gpu/tall_apply.cuh"
#include "libdense/gpu/tall_factor.cuh"

#if !defined(__CUDACC_RTC__)

#include <algorithm>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/dense/tall_qr.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense::gpu {

/// Groups: of a block, the top's included.
template <class T, class Executor, int Groups = tuning::tall_groups>
class DeviceTallQr {
    using Space = typename Executor::Space;
    template <class U>
    using Matrix = core::View<U, 2, Space>;
    template <class U>
    using Buffer = core::Array<U, 1, Space>;

  public:
    DeviceTallQr(Executor& executor, QrMethod method, index_t rows, index_t columns)
        : executor_(executor), rows_(rows), columns_(columns) {
        core::expects(columns > 0 && rows >= columns,
                      "QR needs a column and at least as many rows, has ", rows, " x ", columns);
        core::expects(method == QrMethod::tsqr || method == QrMethod::caqr,
                      "on a device QR is by trees of blocks alone (tsqr, caqr)");
        padded_columns_ = rounded_up(columns, panel_columns);
        pitch_ = std::max(rounded_up(rows, group_rows), padded_columns_);
        core::expects(pitch_ <= most_rows, "on a device a matrix may have ", most_rows,
                      " rows at most, has ", rows);
        index_t factors = 0;
        for (index_t first = 0; first < padded_columns_; first += panel_columns) {
            panels_.push_back(tree_of(first, factors));
        }
        factors_ = Buffer<T>({factors});
        matrix_ = Buffer<T>({padded_columns_ * pitch_});
    }

    /// As TallQr has them; asynchronous.
    void factor(Matrix<const T> a, Matrix<T> r, bool keep) {
        expects_extents("A", a, rows_, columns_);
        expects_extents("R", r, columns_, columns_);
        copy(strided(a), padded(matrix_), CopyPart::all);
        for (const std::vector<TreeLevel>& panel : panels_) {
            const index_t behind = panel.front().first_row + panel_columns;
            for (const TreeLevel& level : panel) {
                launch_factor(level);
                if (behind < padded_columns_) {
                    launch_apply<true>(level, matrix_.data() + behind * pitch_,
                                       padded_columns_ - behind);
                }
            }
        }
        copy(constant(padded(matrix_)), strided(r), CopyPart::upper);
        kept_ = keep;
    }
    void form_q(Matrix<T> q) {
        expects_q();
        expects_extents("Q", q, rows_, columns_);
        apply({nullptr, 1, pitch_, columns_, columns_}, strided(q), CopyPart::identity);
    }
    void apply_q_transposed(Matrix<const T> c, Matrix<T> x) {
        expects_q();
        expects_extents("C", c, rows_, x.extent[1]);
        expects_extents("X", x, columns_, x.extent[1]);
        for_batches(x.extent[1], [&](index_t begin, index_t end) {
            copy(strided(c.slice(1, begin, end)), padded(turned_), CopyPart::all);
            for (const std::vector<TreeLevel>& panel : panels_) {
                for (const TreeLevel& level : panel) {
                    launch_apply<true>(level, turned_.data(),
                                       rounded_up(end - begin, panel_columns));
                }
            }
            copy(constant(padded(turned_)), strided(x.slice(1, begin, end)), CopyPart::all);
        });
    }
    void apply_q(Matrix<const T> x, Matrix<T> c) {
        expects_q();
        expects_extents("X", x, columns_, c.extent[1]);
        expects_extents("C", c, rows_, c.extent[1]);
        for_batches(c.extent[1], [&](index_t begin, index_t end) {
            apply(strided(x.slice(1, begin, end)), strided(c.slice(1, begin, end)), CopyPart::all);
        });
    }

    /// Kernels of nodes have their numbers in int.
    static constexpr index_t most_rows = index_t{1} << 31;

  private:
    static index_t blocks_of(index_t count, index_t of) { return (count + of - 1) / of; }
    static index_t rounded_up(index_t count, index_t to) { return blocks_of(count, to) * to; }

    /// Leaves, as many as fill the device with what each absorbs in turn; then their tops.
    std::vector<TreeLevel> tree_of(index_t first_row, index_t& factors) const {
        std::vector<TreeLevel> levels;
        const auto groups = static_cast<int>((pitch_ - first_row) / group_rows);
        const int leaves = tuning::tall_leaves_per_multiprocessor * executor_.multiprocessors();
        const auto absorbed = static_cast<int>(
            std::max<index_t>(1, blocks_of(blocks_of(groups, leaves), Groups - 1)));
        TreeLevel level{first_row, groups, 1, absorbed * (Groups - 1), absorbed, false, 0};
        for (;;) {
            level.factors = factors;
            factors += index_t{level.nodes()} * level.blocks * factor_elements<T>;
            levels.push_back(level);
            if (level.nodes() == 1) return levels;
            level.step = level.spacing();
            level.below = Groups - 1;
            level.blocks = 1;
            level.triangles = true;
        }
    }

    template <class U>
    static void expects_extents(const char* what, const Matrix<U>& view, index_t rows,
                                index_t columns) {
        core::expects(view.extent[0] == rows && view.extent[1] == columns, what, " must be ", rows,
                      " x ", columns, ", is ", view.extent[0], " x ", view.extent[1]);
    }
    void expects_q() const { core::expects(kept_, "no Q has been kept"); }

    template <class U>
    static StridedMatrix<U> strided(const Matrix<U>& view) {
        return {view.data, view.stride[0], view.stride[1], view.extent[0], view.extent[1]};
    }
    StridedMatrix<T> padded(Buffer<T>& buffer) const {
        return {buffer.data(), 1, pitch_, pitch_, padded_columns_};
    }
    static StridedMatrix<const T> constant(const StridedMatrix<T>& m) {
        return {m.data, m.row, m.column, m.rows, m.columns};
    }

    void copy(const StridedMatrix<const T>& from, const StridedMatrix<T>& to, CopyPart part) {
        core::launch(
            executor_, &copy_matrix_kernel<T>,
            core::LaunchConfig(dim3(static_cast<unsigned>(blocks_of(to.rows, copy_tile)),
                                    static_cast<unsigned>(blocks_of(to.columns, copy_tile))),
                               dim3(copy_tile, copy_rows), copy_tile * (copy_tile + 1) * sizeof(T)),
            from, to, part);
    }
    void launch_factor(const TreeLevel& level) {
        using Shape = FactorShape<T, Groups>;
        core::launch(executor_, &factor_panel_kernel<T, Groups>,
                     core::LaunchConfig(dim3(static_cast<unsigned>(level.nodes())),
                                        dim3(Shape::threads), Shape::shared_bytes),
                     FactorPanelArguments<T>{matrix_.data(), pitch_, level, factors_.data()});
    }
    template <bool transposed>
    void launch_apply(const TreeLevel& level, T* c, index_t columns) {
        using Shape = ApplyShape<T, Groups>;
        core::launch(
            executor_, &apply_panel_kernel<T, Groups, transposed>,
            core::LaunchConfig(dim3(static_cast<unsigned>(columns / applied_columns),
                                    static_cast<unsigned>(level.nodes())),
                               dim3(Shape::threads), Shape::shared_bytes),
            ApplyPanelArguments<T>{matrix_.data(), pitch_, level, factors_.data(), c, pitch_});
    }

    /// to = Q from, of as many columns as the matrix has at most.
    void apply(const StridedMatrix<const T>& from, const StridedMatrix<T>& to, CopyPart part) {
        reserve_turned();
        copy(from, padded(turned_), part);
        for (auto panel = panels_.rbegin(); panel != panels_.rend(); ++panel) {
            for (auto level = panel->rbegin(); level != panel->rend(); ++level) {
                launch_apply<false>(*level, turned_.data(), rounded_up(to.columns, panel_columns));
            }
        }
        copy(constant(padded(turned_)), to, CopyPart::all);
    }
    template <class Work>
    void for_batches(index_t columns, const Work& work) {
        reserve_turned();
        for (index_t begin = 0; begin < columns; begin += padded_columns_) {
            work(begin, std::min(begin + padded_columns_, columns));
        }
    }
    void reserve_turned() {
        if (turned_.size() == 0) turned_ = Buffer<T>({padded_columns_ * pitch_});
    }

    Executor& executor_;
    index_t rows_;
    index_t columns_;
    index_t padded_columns_ = 0;
    index_t pitch_ = 0;
    std::vector<std::vector<TreeLevel>> panels_;
    Buffer<T> matrix_;
    Buffer<T> factors_;
    Buffer<T> turned_;  ///< what Q is applied to
    bool kept_ = false;
};

}  // namespace aperture::dense::gpu

#endif
