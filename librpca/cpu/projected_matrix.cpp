// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/projected_matrix.hpp"

#include <algorithm>
#include <cmath>

#include "libcore/cpu/worker_tasks.hpp"
#include "librpca/cpu/pass.hpp"

namespace aperture::rpca::cpu {

using dense::tall::product_packs;

/// A worker's scratch for a block and for a row of products in it.
template <class T>
struct ProjectedMatrix<T>::Scratch {
    T* rest;      ///< [frame][row of the block], the layout of M
    T* low_rank;  ///< [frame][row of products]
    T* sparse;    ///< likewise
    T* columns;   ///< [column][row of products] of U or Y

    Scratch(core::ScratchParts& parts, index_t rest_reals, index_t frames, index_t width)
        : rest(parts.allocate<T>(rest_reals)),
          low_rank(parts.allocate<T>(frames * row)),
          sparse(parts.allocate<T>(frames * row)),
          columns(parts.allocate<T>(width * row)) {}
};

template <class T>
ProjectedMatrix<T>::ProjectedMatrix(core::Cpu& cpu, index_t frames, index_t values, index_t rank,
                                    bool watches_mask)
    : cpu_(cpu),
      width_(width_of(rank)),
      layout_{frames, values, 0},
      panel_layout_{2 * width_, values, 0},
      m_({layout_.size()}),
      panel_({panel_layout_.size()}),
      mask_({watches_mask ? m_.size() : 0}),
      panel_sums_(panel_layout_),
      rest_sums_(layout_),
      cross_sums_(layout_, width_),
      panel_gram_({2 * width_, 2 * width_}),
      rest_gram_({frames, frames}),
      cross_({width_, frames}),
      part_sums_(static_cast<std::size_t>(layout_.parts())) {
    std::fill(panel_.begin(), panel_.end(), T(0));
    sizes_.reserve(static_cast<std::size_t>(sample_count(frames * values, most_residuals)));
}

template <class T>
WorkspaceBytes ProjectedMatrix<T>::bytes(const core::Cpu& cpu, index_t frames, index_t values,
                                         index_t rank, bool watches_mask) {
    const index_t width = width_of(rank);
    const dense::tall::ColumnBlocks<T> layout{frames, values, 0};
    const dense::tall::ColumnBlocks<T> panel{2 * width, values, 0};
    const index_t factors = 2 * width * (rank + frames) + frames * rank;
    const index_t small = 4 * width * width + frames * frames + width * frames;
    const auto scratch = static_cast<index_t>(
        core::scratch_bytes_of<Scratch>(layout.block_reals(), frames, std::max(width, frames)));
    return {bytes_of<T>(layout.size() + panel.size() + factors +
                        sample_count(frames * values, most_residuals)) +
                (watches_mask ? layout.size() : 0) + dense::tall::ProductSums<T>::bytes(layout) +
                dense::tall::ProductSums<T>::bytes(panel) +
                dense::tall::ProductSums<T>::bytes(layout, width) + bytes_of<double>(small) +
                cpu.threads() * scratch,
            0};
}

template <class T>
double ProjectedMatrix<T>::load(FramesView<const T, core::Host> m) {
    core::for_each_task(cpu_, layout_.parts(), 0, [&](index_t part, std::byte* /*scratch*/) {
        double& square = part_sums_[static_cast<std::size_t>(part)].residual_square;
        square = 0;
        for (index_t b = layout_.first_block(part); b < layout_.first_block(part + 1); ++b) {
            T* const block = m_.data() + b * layout_.block_reals();
            const index_t count = layout_.rows_of(b);
            std::fill_n(block, layout_.block_reals(), T(0));
            for (index_t f = 0; f < layout_.columns; ++f) {
                T* const to = block + f * layout_.stride;
                std::copy_n(&m(f, b * layout_.block_rows), count, to);
                T sum = 0;
#pragma omp simd reduction(+ : sum)
                for (index_t v = 0; v < count; ++v) sum += to[v] * to[v];
                square += static_cast<double>(sum);
            }
        }
    });
    std::fill(mask_.begin(), mask_.end(), std::int8_t{0});
    double square = 0;
    for (const PassSums& sums : part_sums_) square += sums.residual_square;
    if (!std::isfinite(square)) expects_numbers(m);
    return square;
}

template <class T>
void ProjectedMatrix<T>::start_with_medians() {
    const auto scratch_bytes = static_cast<std::size_t>(4 * layout_.stride) * sizeof(T);
    core::for_each_task(cpu_, layout_.blocks(), scratch_bytes, [&](index_t b, std::byte* scratch) {
        std::fill_n(panel_.data() + b * panel_layout_.block_reals(), panel_layout_.block_reals(),
                    T(0));
        find_medians(b, reinterpret_cast<T*>(scratch));
    });
}

/// By bisection of the range: vectorises over the values of a block and needs no sorting.
template <class T>
void ProjectedMatrix<T>::find_medians(index_t block, T* scratch) {
    const index_t stride = layout_.stride;
    T* const below = scratch;
    T* const above = below + stride;
    T* const middle = above + stride;
    T* const count = middle + stride;
    const T* const m = m_.data() + block * layout_.block_reals();
    std::copy_n(m, stride, below);
    std::copy_n(m, stride, above);
    for (index_t f = 1; f < layout_.columns; ++f) {
        const T* const frame = m + f * stride;
        for (index_t v = 0; v < stride; ++v) {
            below[v] = std::min(below[v], frame[v]);
            above[v] = std::max(above[v], frame[v]);
        }
    }
    const T half = static_cast<T>(layout_.columns) / 2;
    for (int i = 0; i < median_halvings; ++i) {
        for (index_t v = 0; v < stride; ++v) {
            middle[v] = below[v] + (above[v] - below[v]) / 2;
            count[v] = 0;
        }
        for (index_t f = 0; f < layout_.columns; ++f) {
            const T* const frame = m + f * stride;
            for (index_t v = 0; v < stride; ++v) count[v] += frame[v] <= middle[v] ? T(1) : T(0);
        }
        for (index_t v = 0; v < stride; ++v) {
            const bool enough = count[v] >= half;
            above[v] = enough ? middle[v] : above[v];
            below[v] = enough ? below[v] : middle[v];
        }
    }
    std::copy_n(above, stride,
                panel_.data() + block * panel_layout_.block_reals() + width_ * stride);
}

template <class T>
double ProjectedMatrix<T>::median_of_rest(core::View<const double, 2, core::Host> coefficients) {
    const index_t size = layout_.columns * layout_.rows;
    const index_t step = sample_step(size, most_residuals);
    sizes_.clear();
    for (index_t i = 0; i < size; i += step) {
        const index_t frame = i / layout_.rows;
        const index_t block = i % layout_.rows / layout_.block_rows;
        const index_t at = i % layout_.rows % layout_.block_rows;
        double difference = m_(block * layout_.block_reals() + frame * layout_.stride + at);
        const T* const panel = panel_.data() + block * panel_layout_.block_reals() + at;
        for (index_t k = 0; k < coefficients.extent[0]; ++k) {
            difference -= static_cast<double>(panel[k * layout_.stride]) * coefficients(k, frame);
        }
        sizes_.push_back(static_cast<T>(std::abs(difference)));
    }
    return upper_median(sizes_.data(), sizes_.data() + sizes_.size());
}

template <class T>
PassSums ProjectedMatrix<T>::pass(const Pass& projection) {
    const PassSums sums = sweep(projection, {});
    if (projection.sums_rest) {
        rest_sums_.gather(rest_gram_);
    } else {
        panel_sums_.gather(panel_gram_);
        cross_sums_.gather(cross_);
    }
    return sums;
}

template <class T>
PassSums ProjectedMatrix<T>::finish(const Pass& projection, FramesView<T, core::Host> low_rank,
                                    FramesView<T, core::Host> sparse) {
    return sweep(projection, {true, low_rank, sparse});
}

template <class T>
PassSums ProjectedMatrix<T>::sweep(const Pass& projection, const Outputs& outputs) {
    const index_t rest_reals = layout_.block_reals();
    const index_t frames = layout_.columns;
    const auto scratch_bytes =
        core::scratch_bytes_of<Scratch>(rest_reals, frames, std::max(width_, frames));
    core::for_each_task(cpu_, layout_.parts(), scratch_bytes, [&](index_t part, std::byte* block) {
        core::ScratchParts parts(block);
        const Scratch scratch(parts, rest_reals, frames, std::max(width_, frames));
        PassSums& sums = part_sums_[static_cast<std::size_t>(part)];
        sums = {};
        panel_sums_.clear(part);
        rest_sums_.clear(part);
        cross_sums_.clear(part);
        // Padding behind the last frame, up to whole tiles.
        std::fill_n(scratch.rest + frames * layout_.stride, rest_reals - frames * layout_.stride,
                    T(0));
        for (index_t b = layout_.first_block(part); b < layout_.first_block(part + 1); ++b) {
            for (index_t v = 0; v < layout_.used_rows(b); v += row) {
                project_row(projection, b, v, scratch, sums);
                if (outputs.wanted) write_row(outputs, b, v, scratch);
            }
            if (outputs.wanted) continue;
            core::ReadAhead ahead;
            if (b + 1 < layout_.first_block(part + 1)) {
                ahead = core::ReadAhead({m_.data() + (b + 1) * rest_reals,
                                         rest_reals * static_cast<index_t>(sizeof(T))});
            }
            if (projection.sums_rest) {
                rest_sums_.add(part, b, scratch.rest, ahead);
            } else {
                const T* const panel = panel_.data() + b * panel_layout_.block_reals();
                panel_sums_.add(part, b, panel);
                cross_sums_.add(part, b, panel, scratch.rest, ahead);
            }
        }
    });
    return total_of(part_sums_, layout_);
}

template <class T>
void ProjectedMatrix<T>::project_row(const Pass& projection, index_t block, index_t first,
                                     const Scratch& scratch, PassSums& sums) {
    const index_t stride = layout_.stride;
    T* const panel = panel_.data() + block * panel_layout_.block_reals() + first;
    const auto replace = [&](index_t column, index_t count) {
        for (index_t k = 0; k < count; ++k) {
            std::copy_n(scratch.columns + k * row, row, panel + (column + k) * stride);
        }
    };
    if (projection.basis.columns > 0) {
        dense::tall::multiply(panel, stride, projection.basis, scratch.columns);
        replace(0, projection.basis.columns);
    }
    dense::tall::multiply(panel, stride, projection.coefficients, scratch.low_rank);
    split_rest(projection, block, first, scratch, sums);
    if (projection.directions.columns > 0) {
        dense::tall::multiply(scratch.rest + first, stride, projection.directions, scratch.columns);
        replace(projection.replaces_basis ? 0 : width_, projection.directions.columns);
    }
}

template <class T>
void ProjectedMatrix<T>::split_rest(const Pass& projection, index_t block, index_t first,
                                    const Scratch& scratch, PassSums& sums) {
    using Pack = core::Pack<T>;
    const index_t begin = block * layout_.block_reals() + first;
    const Pack threshold = core::broadcast(projection.threshold);
    const Pack mask_threshold = core::broadcast(projection.mask_threshold);
    Pack square{};
    Pack zeros{};
    Pack changes{};
    for (index_t f = 0; f < layout_.columns; ++f) {
        const index_t at = f * layout_.stride;
#pragma GCC unroll 4
        for (int p = 0; p < product_packs; ++p) {
            const index_t in_row = f * row + p * lanes;
            const Pack difference = core::load(m_.data() + begin + at + p * lanes) -
                                    core::load(scratch.low_rank + in_row);
            const auto is_small = (difference <= threshold) & (difference >= -threshold);
            const Pack rest = is_small ? difference : Pack{};
            square += rest * rest;
            zeros += is_small ? core::broadcast(T(1)) : Pack{};
            core::store(scratch.rest + first + at + p * lanes, rest);
            core::store(scratch.sparse + in_row, difference - rest);
            if (projection.mask_threshold > 0) {
                changes += mask_changes<T>(difference, mask_threshold,
                                           mask_.data() + begin + at + p * lanes);
            }
        }
    }
    sums.residual_square += sum_of<T>(square);
    sums.zeros += sum_of<T>(zeros);
    sums.mask_changes += sum_of<T>(changes);
}

template <class T>
void ProjectedMatrix<T>::write_row(const Outputs& outputs, index_t block, index_t first,
                                   const Scratch& scratch) const {
    const index_t value = block * layout_.block_rows + first;
    const index_t count = std::min<index_t>(row, layout_.rows - value);
    const auto write = [&](const T* from, const FramesView<T, core::Host>& to) {
        if (to.empty()) return;
        for (index_t f = 0; f < layout_.columns; ++f) {
            std::copy_n(from + f * row, count, &to(f, value));
        }
    };
    write(scratch.low_rank, outputs.low_rank);
    write(scratch.sparse, outputs.sparse);
}

template class ProjectedMatrix<float>;
template class ProjectedMatrix<double>;

}  // namespace aperture::rpca::cpu
