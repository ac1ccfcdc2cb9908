// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/sweep.hpp"

#include <cmath>

#include "libcore/cpu/worker_tasks.hpp"
#include "librpca/cpu/pass.hpp"

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
      part_sizes_(static_cast<std::size_t>(gram_sums_.parts())) {}

template <class T>
Sizes SweptMatrix<T>::load(core::Cpu& cpu, FramesView<const T, core::Host> m) {
    core::for_each_task(cpu, gram_sums_.parts(), 0, [&](index_t part, std::byte* /*scratch*/) {
        Sizes& sizes = part_sizes_[static_cast<std::size_t>(part)];
        sizes = {};
        gram_sums_.clear(part);
        for (index_t b = gram_sums_.first_block(part); b < gram_sums_.first_block(part + 1); ++b) {
            sizes.ground_square += load_ground(m, b);
            const Sizes of_block = load_block(m, b);
            sizes.largest = std::max(sizes.largest, of_block.largest);
            sizes.sum += of_block.sum;
            sizes.square += of_block.square;
            add_gram(part, b);
        }
    });
    std::fill(mask_.begin(), mask_.end(), std::int8_t{0});
    Sizes total;
    for (const Sizes& sizes : part_sizes_) {
        total.largest = std::max(total.largest, sizes.largest);
        total.sum += sizes.sum;
        total.square += sizes.square;
        total.ground_square += sizes.ground_square;
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
Sizes SweptMatrix<T>::load_block(FramesView<const T, core::Host> m, index_t block) {
    Sizes sizes;
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
        sizes.largest = std::max(sizes.largest, static_cast<double>(largest));
        sizes.sum += sum;
        sizes.square += square;
    }
    return sizes;
}

template <class T>
StepSums SweptMatrix<T>::step(core::Cpu& cpu, const Step<T>& step) {
    const StepSums sums = sweep(cpu, step, false, {});
    gather_gram();
    return sums;
}

template <class T>
StepSums SweptMatrix<T>::finish(core::Cpu& cpu, const Step<T>& step,
                                FramesView<T, core::Host> low_rank,
                                FramesView<T, core::Host> sparse) {
    return sweep(cpu, step, true, {low_rank, sparse});
}

template <class T>
StepSums SweptMatrix<T>::sweep(core::Cpu& cpu, const Step<T>& step, bool keeps_w,
                               const Outputs& outputs) {
    const auto frames = static_cast<std::size_t>(layout_.columns);
    const std::size_t scratch_bytes = (3 * frames + 1) * row * sizeof(T);
    core::for_each_task(cpu, gram_sums_.parts(), scratch_bytes,
                        [&](index_t part, std::byte* scratch) {
                            T* const low_rank = reinterpret_cast<T*>(scratch);
                            T* const between = low_rank + layout_.columns * row;
                            T* const sparse = between + (layout_.columns + 1) * row;
                            StepSums& sums = part_sums_[static_cast<std::size_t>(part)];
                            sums = {};
                            if (!keeps_w) gram_sums_.clear(part);
                            for (index_t b = gram_sums_.first_block(part);
                                 b < gram_sums_.first_block(part + 1); ++b) {
                                for (index_t v = 0; v < layout_.used_rows(b); v += row) {
                                    multiply_row(step, w_.data() + b * layout_.block_reals() + v,
                                                 between, low_rank);
                                    update_row(step, b, v, low_rank, sparse, keeps_w, sums);
                                    if (keeps_w) write_row(outputs, b, v, low_rank, sparse);
                                }
                                if (!keeps_w) add_gram(part, b);
                            }
                        });
    StepSums total;
    for (const StepSums& sums : part_sums_) {
        total.residual_square += sums.residual_square;
        total.zeros += sums.zeros;
        total.mask_changes += sums.mask_changes;
    }
    // The padding behind the last value counted as S = 0.
    const index_t last = layout_.blocks() - 1;
    const index_t end = last * layout_.block_rows + layout_.used_rows(last);
    total.zeros -= static_cast<double>((end - layout_.rows) * layout_.columns);
    return total;
}

template <class T>
void SweptMatrix<T>::multiply_row(const Step<T>& step, const T* w, T* between, T* low_rank) const {
    if (step.second == nullptr) {
        dense::tall::multiply(w, layout_.stride, *step.first, low_rank);
    } else {
        dense::tall::multiply(w, layout_.stride, *step.first, between);
        dense::tall::multiply(between, row, *step.second, low_rank);
    }
}

template <class T>
void SweptMatrix<T>::update_row(const Step<T>& step, index_t block, index_t first,
                                const T* low_rank, T* sparse, bool keeps_w, StepSums& sums) {
    using Pack = core::Pack<T>;
    const index_t begin = block * layout_.block_reals() + first;
    const Pack y_scale = core::broadcast(step.y_scale);
    const Pack threshold = core::broadcast(step.threshold);
    const Pack mask_threshold = core::broadcast(step.mask_threshold);
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
            if (step.mask_threshold > 0) {
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
void SweptMatrix<T>::write_row(const Outputs& outputs, index_t block, index_t first, T* low_rank,
                               const T* sparse) const {
    const T* const ground =
        w_.data() + block * layout_.block_reals() + layout_.columns * layout_.stride + first;
    const index_t value = block * layout_.block_rows + first;
    const index_t count = std::min<index_t>(row, layout_.rows - value);
    for (index_t f = 0; f < layout_.columns; ++f) {
        if (!outputs.low_rank.empty()) {
            T* const to = &outputs.low_rank(f, value);
            for (index_t v = 0; v < count; ++v) to[v] = low_rank[f * row + v] + ground[v];
        }
        if (!outputs.sparse.empty())
            std::copy_n(sparse + f * row, count, &outputs.sparse(f, value));
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
