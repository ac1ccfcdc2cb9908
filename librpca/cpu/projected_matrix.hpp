// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/rpca/robust_pca.hpp"
#include "libdense/cpu/product_sums.hpp"
#include "librpca/alternating_projections.hpp"

namespace aperture::rpca::cpu {

/// M and [U Y] in blocks, and sums over them. The order of summation does not depend on the number
/// of threads.
template <class T>
class ProjectedMatrix {
  public:
    using Executor = core::Cpu;
    using Pass = Projection<T, dense::tall::Factor<T>>;

    ProjectedMatrix(core::Cpu& cpu, index_t frames, index_t values, index_t rank,
                    bool watches_mask);

    /// With the factors of a Projection and the scratch memory of the threads.
    static WorkspaceBytes bytes(const core::Cpu& cpu, index_t frames, index_t values, index_t rank,
                                bool watches_mask);

    /// Columns of U and of Y: the rank rounded up to whole Gram tiles, padded with zero columns.
    index_t width() const { return width_; }
    static index_t width_of(index_t rank) { return core::round_up(rank, dense::tall::gram_tile); }

    /// Copies M and returns ||M||_F^2. Throws core::InvalidArgument for a NaN or an infinity.
    double load(FramesView<const T, core::Host> m);
    /// U = 0. The first column of Y is each value's median over the frames, to 1/4096 of the
    /// value's range; the others are 0.
    void start_with_medians();
    /// The median of |M - [U Y] coefficients|, over about 10^5 samples.
    double median_of_rest(core::View<const double, 2, core::Host> coefficients);

    PassSums pass(const Pass& projection);
    /// A pass that writes L and S unless they are empty, and sums no products.
    PassSums finish(const Pass& projection, FramesView<T, core::Host> low_rank,
                    FramesView<T, core::Host> sparse);

    /// [U Y]^T [U Y].
    core::View<const double, 2, core::Host> panel_gram() const { return panel_gram_.view(); }
    /// U^T R, [column][frame].
    core::View<const double, 2, core::Host> cross() const { return cross_.view(); }
    /// R^T R.
    core::View<const double, 2, core::Host> rest_gram() const { return rest_gram_.view(); }

  private:
    struct Outputs {
        bool wanted = false;
        FramesView<T, core::Host> low_rank = {};
        FramesView<T, core::Host> sparse = {};
    };
    struct Scratch;
    static constexpr int lanes = core::lanes<T>;
    static constexpr int row = static_cast<int>(dense::tall::ColumnBlocks<T>::row_unit);

    PassSums sweep(const Pass& projection, const Outputs& outputs);
    void project_row(const Pass& projection, index_t block, index_t first, const Scratch& scratch,
                     PassSums& sums);
    void split_rest(const Pass& projection, index_t block, index_t first, const Scratch& scratch,
                    PassSums& sums);
    void write_row(const Outputs& outputs, index_t block, index_t first,
                   const Scratch& scratch) const;
    void find_medians(index_t block, T* scratch);

    core::Cpu& cpu_;
    index_t width_;
    dense::tall::ColumnBlocks<T> layout_;        ///< of M
    dense::tall::ColumnBlocks<T> panel_layout_;  ///< of [U Y]
    core::Array<T, 1> m_;
    core::Array<T, 1> panel_;
    core::Array<std::int8_t, 1> mask_;  ///< laid out as m_; of the previous pass
    dense::tall::ProductSums<T> panel_sums_;
    dense::tall::ProductSums<T> rest_sums_;
    dense::tall::ProductSums<T> cross_sums_;
    core::Array<double, 2> panel_gram_;
    core::Array<double, 2> rest_gram_;
    core::Array<double, 2> cross_;
    std::vector<PassSums> part_sums_;
    std::vector<T> sizes_;  ///< |residual| of a sample
};

}  // namespace aperture::rpca::cpu
