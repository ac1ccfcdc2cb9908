// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "aperture/core/executor.hpp"
#include "libdense/cpu/gram_sums.hpp"
#include "librpca/multipliers.hpp"

namespace aperture::rpca::cpu {

/// P with L = W P: `first`, or `first` times `second` if that is less work; `first` then has few
/// columns.
template <class T>
struct RightFactor {
    dense::tall::Factor<T> first = {};
    dense::tall::Factor<T> second = {};
    bool has_second = false;
};

/// M and W in blocks, and sums over them. The order of summation does not depend on the number of
/// threads.
template <class T>
class SweptMatrix {
  public:
    using Pass = MultiplierPass<T, core::Host>;
    struct Options {
        bool sums_gram = true;
        bool watches_mask = false;
    };
    SweptMatrix(index_t frames, index_t values, const Options& options);

    /// The scratch memory of the threads included.
    static index_t bytes(index_t frames, index_t values, const Options& options, int threads);

    /// Copies M into M and W and computes their Gram matrix. Throws core::InvalidArgument for a NaN
    /// or an infinity.
    MatrixNorms load(core::Cpu& cpu, FramesView<const T, core::Host> m);
    /// A pass that computes W' and its Gram matrix, or the last one.
    PassSums pass(core::Cpu& cpu, const RightFactor<T>& factor, const Pass& pass, bool last);

    /// Copies W minus the ground.
    void copy_w(core::Cpu& cpu, FramesView<T, core::Host> w) const;
    /// Gram matrix of W minus its temporal mean, [frame][frame], both triangles; only with
    /// sums_gram.
    core::View<const double, 2, core::Host> gram() const { return gram_.view(); }

  private:
    static constexpr int lanes = core::lanes<T>;
    static constexpr int row = static_cast<int>(dense::tall::ColumnBlocks<T>::row_unit);

    static index_t scratch_reals(index_t frames) { return (3 * frames + 1) * row; }
    void multiply_row(const RightFactor<T>& factor, const T* w, T* between, T* low_rank) const;
    void update_row(const Pass& pass, index_t block, index_t first, const T* low_rank, T* sparse,
                    bool keeps_w, PassSums& sums);
    void add_gram(index_t part, index_t block);
    void gather_gram();
    void write_row(const Pass& pass, index_t block, index_t first, T* low_rank,
                   const T* sparse) const;
    /// Returns the sum of its squares.
    double load_ground(FramesView<const T, core::Host> m, index_t block);
    MatrixNorms load_block(FramesView<const T, core::Host> m, index_t block);

    dense::tall::ColumnBlocks<T> layout_;
    bool sums_gram_;
    core::Array<T, 1> m_;
    core::Array<T, 1> w_;
    core::Array<std::int8_t, 1> mask_;    ///< laid out as w_; of the previous pass
    dense::tall::GramSums<T> gram_sums_;  ///< of W minus the ground
    core::Array<double, 2> gram_;
    std::vector<PassSums> part_sums_;
    std::vector<MatrixNorms> part_norms_;
};

}  // namespace aperture::rpca::cpu
