// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What QR of tall matrices on a device works in. A matrix lies column by column, padded with zeros
// to panels of 32 columns and groups of 32 rows. Each panel is factored by a tree of groups of rows
// (Demmel et al. 2012; Anderson 2014, section 3.4). A node of the tree has a group on top and
// others below it, which it absorbs block after block: [top; block] becomes [R; 0]. At the leaves
// groups are those of the matrix; above, they are the triangles that the nodes below have left on
// top.

#include "libcore/gpu/block.cuh"

namespace aperture::dense::gpu {

using core::index_t;

/// Columns of a panel and rows of a group.
inline constexpr int panel_columns = core::warp_size;
inline constexpr int group_rows = panel_columns;

/// Of a level of a panel's tree.
struct TreeLevel {
    index_t first_row;  ///< of the panel: its column, too
    int groups;         ///< of the panel
    int step;           ///< from one group of a node to the next
    int below;          ///< groups that a node has below its top, at most
    int blocks;         ///< of a node, at most
    bool triangles;     ///< groups are triangles
    index_t factors;    ///< where those of the first node are: T of a node's blocks in turn

    APERTURE_HD int spacing() const { return step * (below + 1); }
    APERTURE_HD int nodes() const { return (groups + spacing() - 1) / spacing(); }
};

/// A node, and which groups it has.
struct TreeNode {
    int top;     ///< its group, in groups behind the panel's first row
    int below;   ///< how many there are
    int blocks;  ///< that they are absorbed in; 0: nothing to do

    /// With blocks of `together` groups.
    __device__ TreeNode(const TreeLevel& level, int node, int together)
        : top(node * level.spacing()),
          below(min(level.below, (level.groups - 1 - top) / level.step)),
          blocks((below + together - 1) / together) {
        // A leaf is brought to triangular form in any case.
        if (blocks == 0 && !level.triangles) blocks = 1;
    }
};

template <class T>
inline constexpr int factor_elements = panel_columns* panel_columns;

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

}  // namespace aperture::dense::gpu
