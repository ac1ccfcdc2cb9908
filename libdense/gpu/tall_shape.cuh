// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Data structures of the QR of tall matrices on a device. A matrix is column-major, padded with
// zeros to panels of 32 columns and groups of 32 rows. Each panel is factored by a reduction tree
// over groups of rows (Demmel et al. 2012; Anderson 2014, section 3.4). A node absorbs the groups
// below its top group, block after block: [top; block] becomes [R; 0]. Leaves operate on the groups
// of the matrix; higher levels operate on the triangles that the nodes below left in their tops.

#include "libcore/gpu/block.cuh"

namespace aperture::dense::gpu {

using core::index_t;

/// Columns of a panel and rows of a group.
inline constexpr int panel_columns = core::warp_size;
inline constexpr int group_rows = panel_columns;

/// A level of a panel's tree.
struct TreeLevel {
    index_t first_row;  ///< of the panel; also its first column
    int groups;         ///< of the panel
    int step;           ///< between the groups of a node
    int below;          ///< most groups of a node below its top
    int blocks;         ///< most blocks of a node
    bool triangles;     ///< the groups are triangles
    index_t factors;    ///< offset of the first node's T factors, one per block

    APERTURE_HD int spacing() const { return step * (below + 1); }
    APERTURE_HD int nodes() const { return (groups + spacing() - 1) / spacing(); }
};

/// The groups of a node.
struct TreeNode {
    int top;     ///< its top group, counted from the panel's first row
    int below;   ///< number of groups below
    int blocks;  ///< number of blocks; 0: nothing to do

    /// `together`: groups per block.
    __device__ TreeNode(const TreeLevel& level, int node, int together)
        : top(node * level.spacing()),
          below(min(level.below, (level.groups - 1 - top) / level.step)),
          blocks((below + together - 1) / together) {
        // A leaf without other groups still has to be reduced to a triangle.
        if (blocks == 0 && !level.triangles) blocks = 1;
    }
};

/// Of a block's T factor.
inline constexpr int factor_elements = panel_columns * panel_columns;

/// 16 bytes.
template <class T>
struct alignas(16) RowPiece {
    static constexpr int size = 16 / static_cast<int>(sizeof(T));
    T v[size];
};

template <class T>
__device__ __forceinline__ RowPiece<T> load_piece(const T* from) {
    return *reinterpret_cast<const RowPiece<T>*>(from);
}
template <class T>
__device__ __forceinline__ void store_piece(T* to, const RowPiece<T>& piece) {
    *reinterpret_cast<RowPiece<T>*>(to) = piece;
}

/// `Count` consecutive elements, from a 16-byte boundary.
template <int Count, class T>
__device__ __forceinline__ void load_row(const T* from, T (&to)[Count]) {
    constexpr int size = RowPiece<T>::size;
    static_assert(Count % size == 0);
    APERTURE_UNROLL
    for (int i = 0; i < Count; i += size) {
        const RowPiece<T> piece = load_piece(from + i);
        APERTURE_UNROLL
        for (int e = 0; e < size; ++e) to[i + e] = piece.v[e];
    }
}
template <int Count, class T>
__device__ __forceinline__ void store_row(T* to, const T (&from)[Count]) {
    constexpr int size = RowPiece<T>::size;
    static_assert(Count % size == 0);
    APERTURE_UNROLL
    for (int i = 0; i < Count; i += size) {
        RowPiece<T> piece;
        APERTURE_UNROLL
        for (int e = 0; e < size; ++e) piece.v[e] = from[i + e];
        store_piece(to + i, piece);
    }
}

}  // namespace aperture::dense::gpu
