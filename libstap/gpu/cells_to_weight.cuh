// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two sources of the cells that a warp weights, with one interface. A step processes four rows of a
// matrix q, lane 4 g + p row p; rows beyond the last repeat the last. Only cells before `end`
// exist:
//
//     Cells cells(rows, q, cell, end, ring);     // cells from `cell` on
//     for (int first = 0; first < order; first += 4) {
//         cells.begin_step();
//         cells.load_pair(0);
//         cells.prepare_next(rows, q, first);    // starts loads for later steps
//         cells.load_pair(1); ...                // pair j of the lane's Tiles / 2
//         cells.end_step();
//     }

#include "libstap/gpu/snapshots.cuh"

namespace aperture::stap::gpu {

namespace detail {

// Positions of a lane's cells among those of its warp. Column g of tiles 2 j and 2 j + 1 are cells
// 16 j + (g / 2) 2 + (g % 2) 8 and the next, so that a lane loads two neighbouring cells at once
// and ends with two neighbouring results.
__device__ __forceinline__ int own_pair(int group) { return group / 2 + group % 2 * 4; }

// A lane's cells, four rows at a time, directly from global memory: later ones are in flight while
// earlier ones are multiplied. `Whole`: all cells exist, and pairs of them are 16-byte aligned.
template <int Tiles, bool Whole>
class CellsFromCache {
  public:
    static constexpr bool four_rows_exist = false;  ///< in every matrix

    template <class Rows>
    __device__ __forceinline__ CellsFromCache(const Rows& rows, int q, int cell, int end,
                                              Complex<float>*)
        : own_cell_(cell + 2 * own_pair(core::lane_rank() / 4)),
          cells_left_(end - own_cell_),
          here_(own(rows, q, 0)) {
        APERTURE_UNROLL
        for (int j = 0; j < ahead; ++j) next_[j] = load(here_, j);
    }
    __device__ __forceinline__ void begin_step() {}
    template <class Rows>
    __device__ __forceinline__ void prepare_next(const Rows& rows, int q, int first) {
        there_ = own(rows, q, first + 4);
    }
    __device__ __forceinline__ CellPair load_pair(int j) {
        const CellPair cells = next_[j % ahead];
        next_[j % ahead] =
            j + ahead < Tiles / 2 ? load(here_, j + ahead) : load(there_, j + ahead - Tiles / 2);
        return cells;
    }
    __device__ __forceinline__ void end_step() { here_ = there_; }

  private:
    static constexpr int ahead = Tiles / 4;

    template <class Rows>
    __device__ __forceinline__ const Complex<float>* own(const Rows& rows, int q, int first) const {
        return rows.padded_row(q, first + core::lane_rank() % 4) + own_cell_;
    }
    __device__ __forceinline__ CellPair load(const Complex<float>* own, int j) const {
        if constexpr (Whole) {
            return load_cells(own + 16 * j);
        } else {
            CellPair cells{Complex<float>(0.0f), Complex<float>(0.0f)};
            if (cells_left_ > 16 * j) cells.first = load_cell(own + 16 * j);
            if (cells_left_ > 16 * j + 1) cells.second = load_cell(own + 16 * j + 1);
            return cells;
        }
    }

    int own_cell_, cells_left_;
    const Complex<float>*here_, *there_;
    CellPair next_[ahead];
};

// The same for 64 whole cells and orders of at least four, through a ring of three slots in shared
// memory, two steps ahead: the latency of the cache exceeds one step. A slot holds four rows of 64
// cells; pair i of row r is at i ^ r, so that the pairs of four rows have no bank conflict.
class CellsThroughRing {
  public:
    static constexpr bool four_rows_exist = true;
    static constexpr int slot_cells = 4 * 64;
    static constexpr int slots = 3;

    template <class Rows>
    __device__ __forceinline__ CellsThroughRing(const Rows& rows, int q, int cell, int,
                                                Complex<float>* ring)
        : slot_(0) {
        const int lane = core::lane_rank();
        source_ = cell + lane % 8 * 2;
        to_ = ring + lane / 8 * 64 + (lane % 8 ^ lane / 8) * 2;
        from_ = ring + lane % 4 * 64 + (own_pair(lane / 4) ^ lane % 4) * 2;
        __syncwarp();
        start_copy(rows, q, 0, 0);
        start_copy(rows, q, 4, slot_cells);
    }
    __device__ __forceinline__ void begin_step() {
        core::wait_for_copies<1>();
        __syncwarp();
    }
    template <class Rows>
    __device__ __forceinline__ void prepare_next(const Rows& rows, int q, int first) {
        // Reuses the slot of the previous step, which all lanes have read.
        start_copy(rows, q, first + 8, slot_ == 0 ? 2 * slot_cells : slot_ - slot_cells);
    }
    __device__ __forceinline__ CellPair load_pair(int j) const {
        return *reinterpret_cast<const CellPair*>(from_ + slot_ + 16 * j);
    }
    __device__ __forceinline__ void end_step() {
        slot_ = slot_ == 2 * slot_cells ? 0 : slot_ + slot_cells;
    }

  private:
    // A lane copies every eighth pair of one row.
    template <class Rows>
    __device__ __forceinline__ void start_copy(const Rows& rows, int q, int first, int slot) const {
        if (first < rows.channels * rows.taps) {
            const Complex<float>* from =
                rows.padded_row(q, first + core::lane_rank() / 8) + source_;
            APERTURE_UNROLL
            for (int i = 0; i < 4; ++i) core::copy_async<16>(to_ + slot + 16 * i, from + 16 * i);
        }
        core::commit_copies();
    }

    int source_, slot_;
    Complex<float>* to_;
    const Complex<float>* from_;
};

}  // namespace detail

/// Size of a warp's ring, in cells.
inline constexpr int ring_cells =
    detail::CellsThroughRing::slots * detail::CellsThroughRing::slot_cells;

}  // namespace aperture::stap::gpu
