// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/rpca/robust_pca.hpp"
#include "libdense/cpu/gram_sums.hpp"

namespace aperture::rpca::cpu {

/// One pass of augmented Lagrange multipliers over M and W = M - S + Y / mu:
///
///     L = W P,  Y / mu' = (W - L) y_scale,  S' = shrink(M - L + Y / mu', threshold),
///     W' = M - S' + Y / mu'
///
/// All but S and Y are without the ground, each value's mean over M's frames and the largest part
/// of a video; rounding is then relative to what changes. P keeps the temporal mean, and therefore
/// leaves the ground unchanged. P is `first`, or `first` times `second` if that is less work;
/// `first` then has few columns.
template <class T>
struct Step {
    const dense::tall::Factor<T>* first = nullptr;
    const dense::tall::Factor<T>* second = nullptr;  ///< or nullptr
    T y_scale = 0;
    T threshold = 0;
    T mask_threshold = 0;  ///< if positive, changes of the mask are counted
};

/// Sums of a pass.
struct StepSums {
    double residual_square = 0;  ///< of M - L - S'
    double zeros = 0;            ///< values with S' = 0
    double mask_changes = 0;
};

/// Norms of M.
struct Sizes {
    double largest = 0;
    double sum = 0;     ///< of |M|
    double square = 0;  ///< ||M||_F^2
    double ground_square = 0;
};

/// M and W in blocks, and sums over them. The order of summation does not depend on the number of
/// threads.
template <class T>
class SweptMatrix {
  public:
    struct Options {
        bool sums_gram = true;
        bool watches_mask = false;
    };
    SweptMatrix(index_t frames, index_t values, const Options& options);

    /// Copies M into M and W and computes their Gram matrix. Throws core::InvalidArgument for a NaN
    /// or an infinity.
    Sizes load(core::Cpu& cpu, FramesView<const T, core::Host> m);
    /// A pass that computes W' and its Gram matrix.
    StepSums step(core::Cpu& cpu, const Step<T>& step);
    /// A pass that leaves W unchanged and writes L and S' unless they are empty.
    StepSums finish(core::Cpu& cpu, const Step<T>& step, FramesView<T, core::Host> low_rank,
                    FramesView<T, core::Host> sparse);

    /// Copies W minus the ground.
    void copy_w(core::Cpu& cpu, FramesView<T, core::Host> w) const;
    /// Gram matrix of W minus its temporal mean, [frame][frame], both triangles; only with
    /// sums_gram.
    core::View<const double, 2, core::Host> gram() const { return gram_.view(); }

  private:
    struct Outputs {
        FramesView<T, core::Host> low_rank;
        FramesView<T, core::Host> sparse;
    };
    static constexpr int lanes = core::lanes<T>;
    static constexpr int row = static_cast<int>(dense::tall::ColumnBlocks<T>::row_unit);

    StepSums sweep(core::Cpu& cpu, const Step<T>& step, bool keeps_w, const Outputs& outputs);
    void multiply_row(const Step<T>& step, const T* w, T* between, T* low_rank) const;
    void update_row(const Step<T>& step, index_t block, index_t first, const T* low_rank, T* sparse,
                    bool keeps_w, StepSums& sums);
    void add_gram(index_t part, index_t block);
    void gather_gram();
    void write_row(const Outputs& outputs, index_t block, index_t first, T* low_rank,
                   const T* sparse) const;
    /// Returns the sum of its squares.
    double load_ground(FramesView<const T, core::Host> m, index_t block);
    Sizes load_block(FramesView<const T, core::Host> m, index_t block);

    dense::tall::ColumnBlocks<T> layout_;
    bool sums_gram_;
    core::Array<T, 1> m_;
    core::Array<T, 1> w_;
    core::Array<std::int8_t, 1> mask_;    ///< laid out as w_; of the previous pass
    dense::tall::GramSums<T> gram_sums_;  ///< of W minus the ground
    core::Array<double, 2> gram_;
    std::vector<StepSums> part_sums_;
    std::vector<Sizes> part_sizes_;
};

}  // namespace aperture::rpca::cpu
