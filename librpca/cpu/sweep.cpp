// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/sweep.hpp"

#include <cmath>

#include "libcore/cpu/worker_tasks.hpp"
#include "librpca/cpu/pass.hpp"
#include "librpca/workspace.hpp"

namespace aperture::rpca::cpu {

using dense::tall::product_packs;

namespace {

template <class T>
core::Pack<T> shrunk(core::Pack<T> value, core::Pack<T> threshold) {
    const core::Pack<T> above = value - threshold;
    const core::Pack<T> below = value + threshold;
    const core::Pack<T> zero{};
    return (above > zero ? above : zero) + (below < zero ? below : zero);
}

}  // namespace

template <class T>
SweptMatrix<T>::SweptMatrix(index_t frames, index_t values, const Options& options)
    : layout_{frames, values, 1},
      sums_gram_(options.sums_gram),
      m_({layout_.size()}),
      w_(m_.extent()),
      mask_({options.watches_mask ? w_.size() : 0}),
      gram_sums_(layout_),
      gram_({frames, frames}),
      part_sums_(static_cast<std::size_t>(gram_sums_.parts())),
      part_norms_(static_cast<std::size_t>(gram_sums_.parts())) {}

template <class T>
index_t SweptMatrix<T>::bytes(index_t frames, index_t values, const Options& options, int threads) {
    const dense::tall::ColumnBlocks<T> layout{frames, values, 1};
    return bytes_of<T>(2 * layout.size() + threads * scratch_reals(frames)) +
           (options.watches_mask ? layout.size() : 0) + dense::tall::GramSums<T>::bytes(layout) +
           bytes_of<double>(frames * frames);
}

template <class T>
MatrixNorms SweptMatrix<T>::load(core::Cpu& cpu, FramesView<const T, core::Host> m) {
    core::for_each_task(cpu, gram_sums_.parts(), 0, [&](index_t part, std::byte* /*scratch*/) {
        MatrixNorms& norms = part_norms_[static_cast<std::size_t>(part)];
        norms = {};
        gram_sums_.clear(part);
        for (index_t b = gram_sums_.first_block(part); b < gram_sums_.first_block(part + 1); ++b) {
            norms.ground_square += load_ground(m, b);
            const MatrixNorms of_block = load_block(m, b);
            norms.largest = std::max(norms.largest, of_block.largest);
            norms.sum += of_block.sum;
            norms.square += of_block.square;
            add_gram(part, b);
        }
    });
    std::fill(mask_.begin(), mask_.end(), std::int8_t{0});
    MatrixNorms total;
    for (const MatrixNorms& norms : part_norms_) {
        total.largest = std::max(total.largest, norms.largest);
        total.sum += norms.sum;
        total.square += norms.square;
        total.ground_square += norms.ground_square;
    }
    if (!std::isfinite(total.sum)) expects_numbers(m);
    gather_gram();
    return total;
}

/// Computes the ground and zeroes the padding behind it.
template <class T>
double SweptMatrix<T>::load_ground(FramesView<const T, core::Host> m, index_t block) {
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

template <class T>
MatrixNorms SweptMatrix<T>::load_block(FramesView<const T, core::Host> m, index_t block) {
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

template <class T>
PassSums SweptMatrix<T>::pass(core::Cpu& cpu, const RightFactor<T>& factor, const Pass& pass,
                              bool last) {
    const auto scratch_bytes =
        static_cast<std::size_t>(bytes_of<T>(scratch_reals(layout_.columns)));
    core::for_each_task(cpu, gram_sums_.parts(), scratch_bytes,
                        [&](index_t part, std::byte* scratch) {
                            T* const low_rank = reinterpret_cast<T*>(scratch);
                            T* const between = low_rank + layout_.columns * row;
                            T* const sparse = between + (layout_.columns + 1) * row;
                            PassSums& sums = part_sums_[static_cast<std::size_t>(part)];
                            sums = {};
                            if (!last) gram_sums_.clear(part);
                            for (index_t b = gram_sums_.first_block(part);
                                 b < gram_sums_.first_block(part + 1); ++b) {
                                for (index_t v = 0; v < layout_.used_rows(b); v += row) {
                                    multiply_row(factor, w_.data() + b * layout_.block_reals() + v,
                                                 between, low_rank);
                                    update_row(pass, b, v, low_rank, sparse, last, sums);
                                    if (last) write_row(pass, b, v, low_rank, sparse);
                                }
                                if (!last) add_gram(part, b);
                            }
                        });
    if (!last) gather_gram();
    PassSums total;
    for (const PassSums& sums : part_sums_) {
        total.residual_square += sums.residual_square;
        total.zeros += sums.zeros;
        total.mask_changes += sums.mask_changes;
    }
    // The padding behind the last value counted as S = 0.
    const index_t last_block = layout_.blocks() - 1;
    const index_t end = last_block * layout_.block_rows + layout_.used_rows(last_block);
    total.zeros -= static_cast<double>((end - layout_.rows) * layout_.columns);
    return total;
}

template <class T>
void SweptMatrix<T>::multiply_row(const RightFactor<T>& factor, const T* w, T* between,
                                  T* low_rank) const {
    if (factor.has_second) {
        dense::tall::multiply(w, layout_.stride, factor.first, between);
        dense::tall::multiply(between, row, factor.second, low_rank);
    } else {
        dense::tall::multiply(w, layout_.stride, factor.first, low_rank);
    }
}

template <class T>
void SweptMatrix<T>::update_row(const Pass& pass, index_t block, index_t first, const T* low_rank,
                                T* sparse, bool keeps_w, PassSums& sums) {
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

template <class T>
void SweptMatrix<T>::add_gram(index_t part, index_t block) {
    if (!sums_gram_) return;
    core::ReadAhead ahead;
    if (block + 1 < gram_sums_.first_block(part + 1)) {
        const index_t next = (block + 1) * layout_.block_reals();
        const auto bytes = layout_.block_reals() * static_cast<index_t>(sizeof(T));
        ahead = core::ReadAhead({m_.data() + next, bytes}, {w_.data() + next, bytes});
    }
    gram_sums_.add(part, block, w_.data() + block * layout_.block_reals(),
                   dense::tall::GramSum::of_type, ahead);
}

template <class T>
void SweptMatrix<T>::copy_w(core::Cpu& cpu, FramesView<T, core::Host> w) const {
    core::for_each_task(cpu, layout_.blocks(), 0, [&](index_t b, std::byte* /*scratch*/) {
        const T* const block = w_.data() + b * layout_.block_reals();
        for (index_t f = 0; f < layout_.columns; ++f) {
            std::copy_n(block + f * layout_.stride, layout_.rows_of(b),
                        &w(f, b * layout_.block_rows));
        }
    });
}

template <class T>
void SweptMatrix<T>::write_row(const Pass& pass, index_t block, index_t first, T* low_rank,
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

/// With G = W^T W and J = 1 1^T / frames, (W - W J)^T (W - W J) = (I - J) G (I - J).
template <class T>
void SweptMatrix<T>::gather_gram() {
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

template class SweptMatrix<float>;
template class SweptMatrix<double>;

}  // namespace aperture::rpca::cpu
