// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// QR of tall matrices by trees of blocks (TSQR, CAQR). Host code, a template on the executor.

#include <algorithm>
#include <memory>
#include <vector>

#include "aperture/core/array.hpp"
#include "libdense/gpu/copy_matrix.cuh"
#include "libdense/gpu/tall_apply.cuh"
#include "libdense/gpu/tall_factor.cuh"
#include "libdense/gpu/tuning.hpp"
#include "libdense/tall_factors.hpp"

namespace aperture::dense::gpu {

/// Groups: groups per block, including the top.
template <class T, class Executor, int Groups>
class TreeQr final : public TallFactors<T, typename Executor::Space> {
    using Base = TallFactors<T, typename Executor::Space>;
    template <class U>
    using Matrix = typename Base::template Matrix<U>;
    template <class U>
    using Buffer = core::Array<U, 1, typename Executor::Space>;

  public:
    TreeQr(Executor& executor, index_t rows, index_t columns)
        : executor_(executor), padded_columns_(core::round_up(columns, panel_columns)) {
        pitch_ = std::max(core::round_up(rows, group_rows), padded_columns_);
        core::expects(pitch_ <= most_rows, "on a device a matrix may have ", most_rows,
                      " rows at most, has ", rows);
        for (index_t first = 0; first < padded_columns_; first += panel_columns) {
            panels_.push_back(tree_of(first, factors_size_));
        }
    }

    void factor(Matrix<const T> a, Matrix<T> r, bool /*keep*/) override {
        factors_.reshape({factors_size_});
        matrix_.reshape({padded_columns_ * pitch_});
        copy_matrix<T>(executor_, core::kernel_view(a), padded(matrix_), CopyPart::all);
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
        copy_matrix<T>(executor_, padded(matrix_), core::kernel_view(r), CopyPart::upper);
    }
    index_t bytes() const override {
        return (factors_size_ + padded_columns_ * pitch_) * static_cast<index_t>(sizeof(T));
    }
    void form_q(Matrix<T> q) override {
        apply({nullptr, q.extent}, core::kernel_view(q), CopyPart::identity);
    }
    void apply_transposed(Matrix<const T> c, Matrix<T> x) override {
        reserve_turned();
        copy_matrix<T>(executor_, core::kernel_view(c), padded(turned_), CopyPart::all);
        for (const std::vector<TreeLevel>& panel : panels_) {
            for (const TreeLevel& level : panel) {
                launch_apply<true>(level, turned_.data(),
                                   core::round_up(c.extent[1], panel_columns));
            }
        }
        copy_matrix<T>(executor_, padded(turned_), core::kernel_view(x), CopyPart::all);
    }
    void apply(Matrix<const T> x, Matrix<T> c) override {
        apply(core::kernel_view(x), core::kernel_view(c), CopyPart::all);
    }

    /// Node numbers are ints in the kernels.
    static constexpr index_t most_rows = index_t{1} << 31;

  private:
    /// The leaves fill the device, each absorbing several blocks; then levels of their tops.
    std::vector<TreeLevel> tree_of(index_t first_row, index_t& factors) const {
        std::vector<TreeLevel> levels;
        const auto groups = static_cast<int>((pitch_ - first_row) / group_rows);
        const int leaves = tuning::tall_leaves_per_multiprocessor * executor_.multiprocessors();
        const auto absorbed = static_cast<int>(
            std::max(1U, core::blocks_for(core::blocks_for(groups, leaves), Groups - 1)));
        TreeLevel level{first_row, groups, 1, absorbed * (Groups - 1), absorbed, false, 0};
        for (;;) {
            level.factors = factors;
            factors += index_t{level.nodes()} * level.blocks * factor_elements;
            levels.push_back(level);
            if (level.nodes() == 1) return levels;
            level.step = level.spacing();
            level.below = Groups - 1;
            level.blocks = 1;
            level.triangles = true;
        }
    }

    KernelView<T, 2> padded(Buffer<T>& buffer) const {
        return {buffer.data(), {pitch_, padded_columns_}, {1, pitch_}};
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

    /// to = Q from.
    void apply(const KernelView<const T, 2>& from, const KernelView<T, 2>& to, CopyPart part) {
        reserve_turned();
        copy_matrix<T>(executor_, from, padded(turned_), part);
        for (auto panel = panels_.rbegin(); panel != panels_.rend(); ++panel) {
            for (auto level = panel->rbegin(); level != panel->rend(); ++level) {
                launch_apply<false>(*level, turned_.data(),
                                    core::round_up(to.extent[1], panel_columns));
            }
        }
        copy_matrix<T>(executor_, padded(turned_), to, CopyPart::all);
    }
    void reserve_turned() {
        if (turned_.size() == 0) turned_ = Buffer<T>({padded_columns_ * pitch_});
    }

    Executor& executor_;
    index_t padded_columns_;
    index_t pitch_ = 0;
    std::vector<std::vector<TreeLevel>> panels_;
    index_t factors_size_ = 0;
    Buffer<T> matrix_;
    Buffer<T> factors_;
    Buffer<T> turned_;  ///< the matrix that Q is applied to, with as many columns as A
};

template <class T, int Groups, class Executor>
bool tree_fits(const Executor& executor) {
    return std::max(FactorShape<T, Groups>::shared_bytes, ApplyShape<T, Groups>::shared_bytes) <=
           executor.shared_memory_per_block();
}

/// Creates a tree with as many groups per block as its executor says, or as suit the rows and the
/// shared memory.
template <class T, class Executor>
std::unique_ptr<TallFactors<T, typename Executor::Space>> make_tree(Executor& executor,
                                                                    index_t rows, index_t columns) {
    using namespace tuning;
    if constexpr (requires { Executor::tree_groups; }) {
        return std::make_unique<TreeQr<T, Executor, Executor::tree_groups>>(executor, rows,
                                                                            columns);
    } else if (rows >= large_tall_rows && tree_fits<T, large_tall_groups>(executor)) {
        return std::make_unique<TreeQr<T, Executor, large_tall_groups>>(executor, rows, columns);
    } else if (tree_fits<T, tall_groups>(executor)) {
        return std::make_unique<TreeQr<T, Executor, tall_groups>>(executor, rows, columns);
    } else {
        return std::make_unique<TreeQr<T, Executor, small_tall_groups<T>>>(executor, rows, columns);
    }
}

}  // namespace aperture::dense::gpu
