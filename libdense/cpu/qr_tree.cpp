// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/cpu/qr_tree.hpp"

#include <algorithm>

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/cpu/block_copy.hpp"

namespace aperture::dense::tall {
namespace {

/// Most rows of a block: one panel of it and three columns fit in the first-level cache.
template <class T>
constexpr index_t block_rows = 2816 / static_cast<index_t>(sizeof(T));
/// Enough chunks to occupy some cores, each with enough rows to amortise the merges and its first
/// block.
index_t chunks_of(index_t rows, index_t columns) {
    constexpr index_t chunk_rows = 2048;
    constexpr index_t least_rows_per_column = 2;
    constexpr index_t least_chunks = 4;
    const index_t most = std::max<index_t>(rows / (least_rows_per_column * columns), 1);
    return std::min(std::max(rows / chunk_rows, least_chunks), most);
}

}  // namespace

template <class T>
QrTree<T>::QrTree(core::Cpu& cpu, index_t rows, index_t columns)
    : HostFactors<T>(cpu),
      rows_(rows),
      columns_(columns),
      stride_(triangle_stride<T>(columns)),
      top_size_(stride_ * (core::round_up(columns, panel_columns<T>) + 1)) {
    const index_t chunks = chunks_of(rows, columns);
    cut_into_blocks(chunks);
    plan_merges(chunks);
}

template <class T>
index_t QrTree<T>::bytes() const {
    const index_t reals = tops_size() + cpu_.threads() * block_reals_;
    return reals * static_cast<index_t>(sizeof(T)) +
           panels_ * static_cast<index_t>(sizeof(PanelFactors<T>));
}

template <class T>
typename QrTree<T>::Block QrTree<T>::next_block(BlockKind kind, index_t first_row, index_t rows) {
    const BlockShape shape{kind, core::round_up(rows, core::lanes<T>), columns_};
    const Block block{shape, first_row, rows, reflector_reals_, panels_};
    const index_t reals = shape.rows * core::round_up(columns_, panel_columns<T>);
    reflector_reals_ += reals;
    panels_ += panels_of<T>(columns_);
    block_reals_ = std::max(block_reals_, reals);
    return block;
}

template <class T>
void QrTree<T>::cut_into_blocks(index_t chunks) {
    for (index_t c = 0; c < chunks; ++c) {
        const index_t end = rows_ * (c + 1) / chunks;
        Chunk chunk{rows_ * c / chunks, static_cast<index_t>(blocks_.size()), 0};
        for (index_t row = chunk.first_row; row < end;) {
            const bool first = row == chunk.first_row;
            const index_t blocks = core::ceil_div(end - row, block_rows<T>);
            const index_t share = core::round_up(core::ceil_div(end - row, blocks), core::lanes<T>);
            const index_t rows = std::min(std::max(share, first ? columns_ : 0), end - row);
            blocks_.push_back(
                next_block(first ? BlockKind::own_top : BlockKind::stacked, row, rows));
            row += rows;
        }
        chunk.end_block = static_cast<index_t>(blocks_.size());
        chunks_.push_back(chunk);
    }
}

template <class T>
void QrTree<T>::plan_merges(index_t chunks) {
    for (index_t distance = 1; distance < chunks; distance *= 2) {
        std::vector<Merge> level;
        for (index_t upper = 0; upper + distance < chunks; upper += 2 * distance) {
            level.push_back(
                {next_block(BlockKind::triangle, 0, columns_), upper, upper + distance});
        }
        merges_.push_back(std::move(level));
    }
}

template <class T>
void QrTree<T>::factor(MatrixView<const T> a, MatrixView<T> r, bool keep) {
    r_.reshape({tops_size()});
    if (factors_.empty()) factors_.resize(static_cast<std::size_t>(panels_));
    if (keep && v_.size() == 0) v_ = core::Array<T, 1>({reflector_reals_});
    const std::size_t scratch = keep ? 0 : static_cast<std::size_t>(block_reals_) * sizeof(T);
    const auto chunks = static_cast<index_t>(chunks_.size());
    core::for_each_task(cpu_, chunks, scratch, [&](index_t c, std::byte* of_thread) {
        factor_chunk(chunks_[static_cast<std::size_t>(c)], a, keep, of_thread);
    });
    for (const std::vector<Merge>& level : merges_) {
        core::for_each_task(cpu_, static_cast<index_t>(level.size()), scratch,
                            [&](index_t m, std::byte* of_thread) {
                                factor_merge(level[static_cast<std::size_t>(m)], keep, of_thread);
                            });
    }
    for (index_t i = 0; i < columns_; ++i) {
        for (index_t j = 0; j < columns_; ++j) r(i, j) = j < i ? T(0) : r_(j * stride_ + i);
    }
}

/// The rows of a block in a matrix, and its reflectors, to prefetch; empty outside the chunk.
template <class T>
core::ReadAhead QrTree<T>::ahead_of(index_t block, const Chunk& chunk, MatrixView<const T> of,
                                    bool reflectors) const {
    if (block < chunk.first_block || block >= chunk.end_block || of.empty()) return {};
    constexpr auto size = static_cast<index_t>(sizeof(T));
    const Block& next = blocks_[static_cast<std::size_t>(block)];
    const T* const first = of.data + next.first_row * of.stride[0];
    const bool by_rows = of.stride[1] == 1;
    const core::ReadAhead::Runs rows =
        by_rows ? core::ReadAhead::Runs{first, of.extent[1] * size, next.rows, of.stride[0] * size}
                : core::ReadAhead::Runs{first, next.rows * size, of.extent[1], of.stride[1] * size};
    if (!reflectors) return core::ReadAhead(rows);
    return core::ReadAhead(rows, {v_.data() + next.v, next.shape.rows * columns_ * size});
}

template <class T>
void QrTree<T>::factor_chunk(const Chunk& chunk, MatrixView<const T> a, bool keep,
                             std::byte* scratch) {
    T* const r = r_.data() + (&chunk - chunks_.data()) * top_size_;
    std::fill_n(r, top_size_, T(0));
    for (index_t i = chunk.first_block; i < chunk.end_block; ++i) {
        const Block& block = blocks_[static_cast<std::size_t>(i)];
        T* const v = keep ? v_.data() + block.v : reinterpret_cast<T*>(scratch);
        load_padded(a, block.first_row, block.rows, block.shape.rows, v);
        const index_t padded = core::round_up(columns_, panel_columns<T>);
        std::fill(v + columns_ * block.shape.rows, v + padded * block.shape.rows, T(0));
        factor_block(block.shape, v, r, factors_.data() + block.panel,
                     ahead_of(i + 1, chunk, a, keep));
    }
}

template <class T>
void QrTree<T>::factor_merge(const Merge& merge, bool keep, std::byte* scratch) {
    const Block& block = merge.block;
    const index_t rows = block.shape.rows;
    const T* const lower = r_.data() + merge.lower * top_size_;
    T* const v = keep ? v_.data() + block.v : reinterpret_cast<T*>(scratch);
    std::fill_n(v, rows * core::round_up(columns_, panel_columns<T>), T(0));
    for (index_t j = 0; j < columns_; ++j) {
        std::copy_n(lower + j * stride_, j + 1, v + j * rows);
    }
    factor_block(block.shape, v, r_.data() + merge.upper * top_size_,
                 factors_.data() + block.panel);
}

template <class T>
void QrTree<T>::apply_transposed(MatrixView<const T> c, MatrixView<T> x, MatrixView<T> rest) {
    tops_.reshape({tops_size()});
    for_each_chunk([&](index_t chunk, std::byte* scratch) {
        T* const head = top(chunk);
        std::fill_n(head, top_size_, T(0));
        transpose_in_chunk(chunks_[static_cast<std::size_t>(chunk)], c, rest, head, scratch);
    });
    for (const std::vector<Merge>& level : merges_) apply_merges<true>(level, c.extent[1]);
    store_columns<T>(top(0), stride_, 0, columns_, x);
    if (rest.empty()) return;
    for (std::size_t i = 1; i < chunks_.size(); ++i) {
        store_columns<T>(top(static_cast<index_t>(i)), stride_, chunks_[i].first_row, columns_,
                         rest);
    }
}

template <class T>
void QrTree<T>::apply(MatrixView<const T> x, MatrixView<const T> rest, MatrixView<T> to) {
    tops_.reshape({tops_size()});
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        T* const head = top(static_cast<index_t>(i));
        std::fill_n(head, top_size_, T(0));
        if (i == 0) {
            load_padded<T>(x, 0, columns_, stride_, head);
        } else if (!rest.empty()) {
            load_padded<T>(rest, chunks_[i].first_row, columns_, stride_, head);
        }
    }
    for (auto level = merges_.rbegin(); level != merges_.rend(); ++level) {
        apply_merges<false>(*level, x.extent[1]);
    }
    for_each_chunk([&](index_t chunk, std::byte* scratch) {
        apply_in_chunk(chunks_[static_cast<std::size_t>(chunk)], rest, to, top(chunk), scratch);
    });
}

template <class T>
template <class Work>
void QrTree<T>::for_each_chunk(const Work& work) {
    core::for_each_task(cpu_, static_cast<index_t>(chunks_.size()),
                        static_cast<std::size_t>(block_reals_) * sizeof(T), work);
}

template <class T>
void QrTree<T>::transpose_in_chunk(const Chunk& chunk, MatrixView<const T> from, MatrixView<T> to,
                                   T* top, std::byte* scratch) const {
    T* const c = reinterpret_cast<T*>(scratch);
    for (index_t i = chunk.first_block; i < chunk.end_block; ++i) {
        const Block& block = blocks_[static_cast<std::size_t>(i)];
        const index_t rows = block.shape.rows;
        load_padded(from, block.first_row, block.rows, rows, c);
        apply_block<T, true>(block.shape, v_.data() + block.v, factors_.data() + block.panel, c,
                             top, from.extent[1], ahead_of(i + 1, chunk, from, true));
        if (!to.empty()) store_columns<T>(c, rows, block.first_row, block.rows, to);
    }
}

template <class T>
void QrTree<T>::apply_in_chunk(const Chunk& chunk, MatrixView<const T> from, MatrixView<T> to,
                               T* top, std::byte* scratch) const {
    T* const c = reinterpret_cast<T*>(scratch);
    for (index_t i = chunk.end_block; i-- > chunk.first_block;) {
        const Block& block = blocks_[static_cast<std::size_t>(i)];
        const index_t rows = block.shape.rows;
        const index_t columns = to.extent[1];
        if (from.empty()) {
            std::fill_n(c, rows * columns, T(0));
        } else {
            load_padded(from, block.first_row, block.rows, rows, c);
        }
        if (block.shape.kind == BlockKind::own_top) {
            for (index_t j = 0; j < columns; ++j) std::fill_n(c + j * rows, columns_, T(0));
        }
        apply_block<T, false>(block.shape, v_.data() + block.v, factors_.data() + block.panel, c,
                              top, columns, ahead_of(i - 1, chunk, from, true));
        store_columns<T>(c, rows, block.first_row, block.rows, to);
    }
}

template <class T>
template <bool transposed>
void QrTree<T>::apply_merges(const std::vector<Merge>& level, index_t columns) {
    const auto apply = [&](index_t m, std::byte* scratch) {
        const Merge& merge = level[static_cast<std::size_t>(m)];
        const Block& block = merge.block;
        const index_t rows = block.shape.rows;
        T* const c = reinterpret_cast<T*>(scratch);
        for (index_t j = 0; j < columns; ++j) {
            std::copy_n(top(merge.lower) + j * stride_, columns_, c + j * rows);
            std::fill(c + j * rows + columns_, c + (j + 1) * rows, T(0));
        }
        apply_block<T, transposed>(block.shape, v_.data() + block.v, factors_.data() + block.panel,
                                   c, top(merge.upper), columns);
        for (index_t j = 0; j < columns; ++j) {
            std::copy_n(c + j * rows, columns_, top(merge.lower) + j * stride_);
        }
    };
    core::for_each_task(cpu_, static_cast<index_t>(level.size()),
                        static_cast<std::size_t>(block_reals_) * sizeof(T), apply);
}

template class QrTree<float>;
template class QrTree<double>;

}  // namespace aperture::dense::tall
