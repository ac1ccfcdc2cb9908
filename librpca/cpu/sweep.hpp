// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/cpu/product_sums.hpp"
#include "librpca/cpu/pass.hpp"
#include "librpca/multipliers.hpp"
#include "librpca/workspace.hpp"

namespace aperture::rpca::cpu {

using dense::tall::product_packs;

/// P with L = W P: `first`, or `first` times `second` if that is less work; `first` then has few
/// columns.
template <class T>
struct RightFactor {
    dense::tall::Factor<T> first = {};
    dense::tall::Factor<T> second = {};
    bool has_second = false;
};

template <class T>
core::Pack<T> shrunk(core::Pack<T> value, core::Pack<T> threshold) {
    const core::Pack<T> above = value - threshold;
    const core::Pack<T> below = value + threshold;
    const core::Pack<T> zero{};
    return (above > zero ? above : zero) + (below < zero ? below : zero);
}

/// M and W in blocks, and sums over them. The order of summation does not depend on the number of
/// threads.
template <class T>
class SweptMatrix {
  public:
    using Pass = MultiplierPass<T, core::Host>;
    SweptMatrix(index_t frames, index_t values, Svd svd, bool watches_mask)
        : layout_{frames, values, 1},
          sums_gram_(svd == Svd::gram),
          m_({layout_.size()}),
          w_(m_.extent()),
          mask_({watches_mask ? w_.size() : 0}),
          gram_sums_(layout_),
          gram_({frames, frames}),
          part_sums_(static_cast<std::size_t>(layout_.parts())),
          part_norms_(static_cast<std::size_t>(layout_.parts())) {}

    /// The scratch memory of the threads included.
    static index_t bytes(index_t frames, index_t values, bool watches_mask, int threads) {
        const dense::tall::ColumnBlocks<T> layout{frames, values, 1};
        return bytes_of<T>(2 * layout.size() + threads * scratch_reals(frames)) +
               (watches_mask ? layout.size() : 0) + dense::tall::ProductSums<T>::bytes(layout) +
               bytes_of<double>(frames * frames);
    }

    /// Copies M into M and W and computes their Gram matrix. Throws core::InvalidArgument for a NaN
    /// or an infinity.
    MatrixNorms load(core::Cpu& cpu, FramesView<const T, core::Host> m) {
        core::for_each_task(cpu, layout_.parts(), 0, [&](index_t part, std::byte* /*scratch*/) {
            MatrixNorms& norms = part_norms_[static_cast<std::size_t>(part)];
            norms = {};
            gram_sums_.clear(part);
            for (index_t b = layout_.first_block(part); b < layout_.first_block(part + 1); ++b) {
                norms.ground_square += load_ground(m, b);
                norms += load_block(m, b);
                add_gram(part, b);
            }
        });
        std::fill(mask_.begin(), mask_.end(), std::int8_t{0});
        MatrixNorms total;
        for (const MatrixNorms& norms : part_norms_) total += norms;
        if (!std::isfinite(total.sum)) expects_numbers(m);
        gather_gram();
        return total;
    }
    /// A pass that computes W' and its Gram matrix, or the last one.
    PassSums pass(core::Cpu& cpu, const RightFactor<T>& factor, const Pass& pass, bool last) {
        const auto scratch_bytes =
            static_cast<std::size_t>(bytes_of<T>(scratch_reals(layout_.columns)));
        core::for_each_task(
            cpu, layout_.parts(), scratch_bytes, [&](index_t part, std::byte* scratch) {
                T* const low_rank = reinterpret_cast<T*>(scratch);
                T* const between = low_rank + layout_.columns * row;
                T* const sparse = between + (layout_.columns + 1) * row;
                PassSums& sums = part_sums_[static_cast<std::size_t>(part)];
                sums = {};
                if (!last) gram_sums_.clear(part);
                for (index_t b = layout_.first_block(part); b < layout_.first_block(part + 1);
                     ++b) {
                    for (index_t v = 0; v < layout_.used_rows(b); v += row) {
                        multiply_row(factor, w_.data() + b * layout_.block_reals() + v, between,
                                     low_rank);
                        update_row(pass, b, v, low_rank, sparse, last, sums);
                        if (last) write_row(pass, b, v, low_rank, sparse);
                    }
                    if (!last) add_gram(part, b);
                }
            });
        if (!last) gather_gram();
        return total_of(part_sums_, layout_);
    }

    /// Copies W minus the ground.
    void copy_w(core::Cpu& cpu, FramesView<T, core::Host> w) const {
        core::for_each_task(cpu, layout_.blocks(), 0, [&](index_t b, std::byte* /*scratch*/) {
            const T* const block = w_.data() + b * layout_.block_reals();
            for (index_t f = 0; f < layout_.columns; ++f) {
                std::copy_n(block + f * layout_.stride, layout_.rows_of(b),
                            &w(f, b * layout_.block_rows));
            }
        });
    }
    /// Gram matrix of W minus its temporal mean, [frame][frame], both triangles; only with
    /// Svd::gram.
    core::View<const double, 2, core::Host> gram() const { return gram_.view(); }

  private:
    static constexpr int lanes = core::lanes<T>;
    static constexpr int row = static_cast<int>(dense::tall::ColumnBlocks<T>::row_unit);

    static index_t scratch_reals(index_t frames) { return (3 * frames + 1) * row; }

    /// Computes the ground and zeroes the padding behind it. Returns the sum of its squares.
    double load_ground(FramesView<const T, core::Host> m, index_t block) {
        const index_t first = block * layout_.block_rows;
        const index_t count = layout_.rows_of(block);
        T* const begin = w_.data() + block * layout_.block_reals();
        T* const ground = begin + layout_.columns * layout_.stride;
        std::fill(ground, begin + layout_.block_reals(), T(0));
        for (index_t f = 0; f < layout_.columns; ++f) {
            const T* const frame = &m(f, first);
            for (index_t v = 0; v < count; ++v) ground[v] += frame[v];
        }
        double square = 0;
        for (index_t v = 0; v < count; ++v) {
            ground[v] /= static_cast<T>(layout_.columns);
            square += static_cast<double>(ground[v]) * static_cast<double>(ground[v]);
        }
        return square;
    }

    MatrixNorms load_block(FramesView<const T, core::Host> m, index_t block) {
        MatrixNorms norms;
        const index_t first = block * layout_.block_rows;
        const index_t count = layout_.rows_of(block);
        T* const m_of_block = m_.data() + block * layout_.block_reals();
        T* const w_of_block = w_.data() + block * layout_.block_reals();
        const T* const ground = w_of_block + layout_.columns * layout_.stride;
        for (index_t f = 0; f < layout_.columns; ++f) {
            const T* const from = &m(f, first);
            T* const to = m_of_block + f * layout_.stride;
            T largest = 0;
            T sum = 0;
            T square = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum, square)
            for (index_t v = 0; v < count; ++v) {
                to[v] = from[v] - ground[v];
                largest = std::max(largest, std::abs(from[v]));
                sum += std::abs(from[v]);
                square += from[v] * from[v];
            }
            std::fill(to + count, to + layout_.stride, T(0));
            std::copy_n(to, layout_.stride, w_of_block + f * layout_.stride);
            norms.largest = std::max(norms.largest, static_cast<double>(largest));
            norms.sum += sum;
            norms.square += square;
        }
        return norms;
    }

    void multiply_row(const RightFactor<T>& factor, const T* w, T* between, T* low_rank) const {
        if (factor.has_second) {
            dense::tall::multiply(w, layout_.stride, factor.first, between);
            dense::tall::multiply(between, row, factor.second, low_rank);
        } else {
            dense::tall::multiply(w, layout_.stride, factor.first, low_rank);
        }
    }

    void update_row(const Pass& pass, index_t block, index_t first, const T* low_rank, T* sparse,
                    bool keeps_w, PassSums& sums) {
        using Pack = core::Pack<T>;
        const index_t begin = block * layout_.block_reals() + first;
        const Pack y_scale = core::broadcast(pass.y_scale);
        const Pack threshold = core::broadcast(pass.threshold);
        const Pack mask_threshold = core::broadcast(pass.mask_threshold);
        Pack square{};
        Pack zeros{};
        Pack changes{};
        for (index_t f = 0; f < layout_.columns; ++f) {
            const index_t at = begin + f * layout_.stride;
#pragma GCC unroll 4
            for (int p = 0; p < product_packs; ++p) {
                const Pack l = core::load(low_rank + f * row + p * lanes);
                const Pack m = core::load(m_.data() + at + p * lanes);
                const Pack w = core::load(w_.data() + at + p * lanes);
                const Pack y = (w - l) * y_scale;
                const Pack difference = m - l;
                const Pack s = shrunk<T>(difference + y, threshold);
                const Pack left = difference - s;
                square += left * left;
                zeros += s == Pack{} ? core::broadcast(T(1)) : Pack{};
                if (keeps_w) {
                    core::store(sparse + f * row + p * lanes, s);
                } else {
                    core::store(w_.data() + at + p * lanes, m + y - s);
                }
                if (pass.mask_threshold > 0) {
                    changes +=
                        mask_changes<T>(difference, mask_threshold, mask_.data() + at + p * lanes);
                }
            }
        }
        sums.residual_square += sum_of<T>(square);
        sums.zeros += sum_of<T>(zeros);
        sums.mask_changes += sum_of<T>(changes);
    }

    void write_row(const Pass& pass, index_t block, index_t first, T* low_rank,
                   const T* sparse) const {
        const T* const ground =
            w_.data() + block * layout_.block_reals() + layout_.columns * layout_.stride + first;
        const index_t value = block * layout_.block_rows + first;
        const index_t count = std::min<index_t>(row, layout_.rows - value);
        for (index_t f = 0; f < layout_.columns; ++f) {
            if (!pass.low_rank.empty()) {
                T* const to = &pass.low_rank(f, value);
                for (index_t v = 0; v < count; ++v) to[v] = low_rank[f * row + v] + ground[v];
            }
            if (!pass.sparse.empty()) std::copy_n(sparse + f * row, count, &pass.sparse(f, value));
        }
    }

    void add_gram(index_t part, index_t block) {
        if (!sums_gram_) return;
        core::ReadAhead ahead;
        if (block + 1 < layout_.first_block(part + 1)) {
            const index_t next = (block + 1) * layout_.block_reals();
            const auto bytes = layout_.block_reals() * static_cast<index_t>(sizeof(T));
            ahead = core::ReadAhead({m_.data() + next, bytes}, {w_.data() + next, bytes});
        }
        gram_sums_.add(part, block, w_.data() + block * layout_.block_reals(), ahead);
    }

    /// With G = W^T W and J = 1 1^T / frames, (W - W J)^T (W - W J) = (I - J) G (I - J).
    void gather_gram() {
        gram_sums_.gather(gram_);
        const index_t frames = layout_.columns;
        const auto subtract_mean = [&](auto element) {
            double sum = 0;
            for (index_t i = 0; i < frames; ++i) sum += element(i);
            for (index_t i = 0; i < frames; ++i) element(i) -= sum / static_cast<double>(frames);
        };
        for (index_t f = 0; f < frames; ++f) {
            subtract_mean([&](index_t i) -> double& { return gram_(f, i); });
        }
        for (index_t f = 0; f < frames; ++f) {
            subtract_mean([&](index_t i) -> double& { return gram_(i, f); });
        }
    }

    dense::tall::ColumnBlocks<T> layout_;
    bool sums_gram_;
    core::Array<T, 1> m_;
    core::Array<T, 1> w_;
    core::Array<std::int8_t, 1> mask_;       ///< laid out as w_; of the previous pass
    dense::tall::ProductSums<T> gram_sums_;  ///< of W minus the ground
    core::Array<double, 2> gram_;
    std::vector<PassSums> part_sums_;
    std::vector<MatrixNorms> part_norms_;
};

}  // namespace aperture::rpca::cpu
