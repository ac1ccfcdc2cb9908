// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "libdense/cpu/reflector_block.hpp"
#include "libdense/tall_factors.hpp"

namespace aperture::dense::tall {

/// Of a Cpu.
template <class T>
class HostFactors : public TallFactors<T, core::Host> {
  public:
    explicit HostFactors(core::Cpu& cpu) : cpu_(cpu) {}

    void form_q(MatrixView<T> q) override {
        const index_t n = q.extent[1];
        if (identity_.size() == 0) {
            identity_.reshape({n, n});
            std::fill(identity_.begin(), identity_.end(), T(0));
            for (index_t i = 0; i < n; ++i) identity_(i, i) = 1;
        }
        this->apply(identity_, q);
    }

  protected:
    core::Cpu& cpu_;

  private:
    core::Array<T, 2> identity_;
};

/// QR of a tall matrix by a fixed tree (TSQR; Demmel et al. 2012; Anderson 2014, section 3.3). Rows
/// are cut into chunks. Within a chunk, the triangle absorbs block after block; then the chunks'
/// triangles are merged in pairs. The partition depends on the matrix's shape only.
///
/// Q is stored as the reflectors of blocks and merges. It is square; its first columns are the thin
/// Q. A chunk's triangle takes the place of its first rows, so that Q^T A has R in the first rows
/// of the first chunk and zeros elsewhere.
template <class T>
class QrTree final : public HostFactors<T> {
  public:
    /// Requires rows >= columns.
    QrTree(core::Cpu& cpu, index_t rows, index_t columns);

    void factor(MatrixView<const T> a, MatrixView<T> r, bool keep) override;
    index_t bytes() const override;
    void apply_transposed(MatrixView<const T> c, MatrixView<T> x) override {
        apply_transposed(c, x, {});
    }
    void apply(MatrixView<const T> x, MatrixView<T> c) override { apply(x, {}, c); }

    /// x = the first rows of Q^T c, as many as the matrix has columns. A nonempty `rest` receives
    /// the other elements of Q^T c, in their rows; it may alias c.
    void apply_transposed(MatrixView<const T> c, MatrixView<T> x, MatrixView<T> rest);
    /// to = Q [x; rest]: the first rows are x, the others those of `rest`, or zeros if it is empty.
    /// `to` may alias `rest`.
    void apply(MatrixView<const T> x, MatrixView<const T> rest, MatrixView<T> to);

  private:
    struct Block {
        BlockShape shape;
        index_t first_row = 0;
        index_t rows = 0;  ///< without padding
        index_t v = 0;     ///< offset of its reflectors
        index_t panel = 0;
    };
    struct Chunk {
        index_t first_row = 0;
        index_t first_block = 0;
        index_t end_block = 0;
    };
    struct Merge {
        Block block;
        index_t upper = 0;  ///< chunk numbers
        index_t lower = 0;
    };

    void cut_into_blocks(index_t chunks);
    void plan_merges(index_t chunks);
    Block next_block(BlockKind kind, index_t first_row, index_t rows);
    core::ReadAhead ahead_of(index_t block, const Chunk& chunk, MatrixView<const T> of,
                             bool reflectors) const;
    void factor_chunk(const Chunk& chunk, MatrixView<const T> a, bool keep, std::byte* scratch);
    void factor_merge(const Merge& merge, bool keep, std::byte* scratch);
    template <class Work>
    void for_each_chunk(const Work& work);
    void transpose_in_chunk(const Chunk& chunk, MatrixView<const T> from, MatrixView<T> to, T* top,
                            std::byte* scratch) const;
    void apply_in_chunk(const Chunk& chunk, MatrixView<const T> from, MatrixView<T> to, T* top,
                        std::byte* scratch) const;
    template <bool transposed>
    void apply_merges(const std::vector<Merge>& level, index_t columns);
    index_t tops_size() const { return static_cast<index_t>(chunks_.size()) * top_size_; }
    T* top(index_t chunk) { return tops_.data() + chunk * top_size_; }

    using HostFactors<T>::cpu_;
    index_t rows_;
    index_t columns_;
    index_t stride_;    ///< between a triangle's columns
    index_t top_size_;  ///< reals of a triangle
    std::vector<Chunk> chunks_;
    std::vector<Block> blocks_;
    std::vector<std::vector<Merge>> merges_;  ///< by level
    index_t reflector_reals_ = 0;
    index_t panels_ = 0;
    index_t block_reals_ = 0;  ///< of the largest block
    core::Array<T, 1> r_;      ///< triangles of all chunks; the first one is R in the end
    core::Array<T, 1> tops_;   ///< the elements in the triangles' places while Q is applied
    core::Array<T, 1> v_;
    std::vector<PanelFactors<T>> factors_;
};

}  // namespace aperture::dense::tall
