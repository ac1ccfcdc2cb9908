// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrices of a warp's problems with rows in registers and, between those and global memory, in
// shared memory:
//
//     entry[slot][column] of lane g is entry (slot * lanes + g, column),
//
// with a group of `lanes` = 1, 2, 4, ... 32 lanes a problem. In shared memory rows are an odd
// number of chunks of 16 bytes, so that neighbouring lanes load chunks of theirs without bank
// conflicts.

#include "libdense/gpu/factor_arguments.cuh"
#include "libdense/gpu/reflector.cuh"

namespace aperture::dense {

inline constexpr int rows_threads = 128;

/// The problems of a warp, and this lane's.
template <int lanes>
struct RowsPosition {
    static constexpr int problems = core::warp_size / lanes;

    index_t first;
    int valid;
    int local;
    int lane;

    __device__ __forceinline__ explicit RowsPosition(index_t all_problems)
        : first((static_cast<index_t>(blockIdx.x) * (rows_threads / core::warp_size) +
                 core::warp_rank()) *
                problems),
          valid(all_problems - first < problems
                    ? (all_problems > first ? static_cast<int>(all_problems - first) : 0)
                    : problems),
          local(core::lane_rank() / lanes),
          lane(core::lane_rank() % lanes) {}

    __device__ __forceinline__ bool exists() const { return local < valid; }
    __device__ __forceinline__ index_t problem() const { return first + local; }
};

/// Entries from a row to the next, and from a problem to the next: chunks of a quarter of a warp
/// are in different banks, of one problem or of several. A thread that has a problem loads the same
/// chunk of it as its neighbours of theirs.
template <class T>
APERTURE_HD constexpr int rows_stride(int columns, int lanes) {
    const int chunks = (columns + chunk_entries<T> - 1) / chunk_entries<T>;
    return (lanes == 1 ? chunks : chunks | 1) * chunk_entries<T>;
}
template <class T>
APERTURE_HD constexpr int rows_problem_stride(int rows, int columns, int lanes) {
    constexpr int quarter = core::warp_size / 4;
    const int chunks = rows * rows_stride<T>(columns, lanes) / chunk_entries<T>;
    const int gap = lanes == 1         ? 1 - chunks % 2
                    : lanes >= quarter ? 0
                                       : ((lanes - chunks) % quarter + quarter) % quarter;
    return (chunks + gap) * chunk_entries<T>;
}

/// Bytes of shared memory for [A | B] with that many rows and columns.
template <class T>
APERTURE_HD constexpr int rows_shared_bytes(int rows, int columns, int lanes) {
    return rows_threads / lanes * rows_problem_stride<T>(rows, columns, lanes) *
           static_cast<int>(sizeof(T));
}

/// A chunk of a row.
template <class T>
__device__ __forceinline__ Chunk<T> chunk_at(const T* entries) {
    return *reinterpret_cast<const Chunk<T>*>(entries);
}

template <class T>
__device__ __forceinline__ void store_chunk(T* entries, const Chunk<T>& chunk) {
    *reinterpret_cast<Chunk<T>*>(entries) = chunk;
}

/// The matrices of a warp's problems in shared memory.
template <class T, int rows_, int columns_, int lanes>
struct WarpTile {
    static constexpr int chunk = chunk_entries<T>;
    static constexpr int row_stride = rows_stride<T>(columns_, lanes);
    static constexpr int problem_stride = rows_problem_stride<T>(rows_, columns_, lanes);
    RowsPosition<lanes> at;
    T* first;  ///< those of the warp
    T* own;    ///< that of this lane's problem

    __device__ __forceinline__ explicit WarpTile(index_t all_problems)
        : at(all_problems),
          first(core::shared<T>() +
                core::warp_rank() * RowsPosition<lanes>::problems * problem_stride),
          own(first + at.local * problem_stride) {}

    __device__ __forceinline__ T* row(int i) const { return own + i * row_stride; }

    /// Starts to copy matrices of count x length, or their lower triangles and perhaps more, to the
    /// rows from `begin` on; wait() must follow.
    template <int count, int length, bool lower = false, class U>
    __device__ __forceinline__ void load(const KernelView<U, 3>& batch, int begin = 0) const {
        if constexpr (single_words<length>) {
            if (gapless<Part<count, length>>(batch)) {
                load_gapless<Part<count, length>>(first + begin * row_stride,
                                                  batch.data + at.first * batch.stride[0], at.valid,
                                                  core::lane_rank(), core::warp_size);
                return;
            }
        }
        for_each_piece<count, length, load_width<length>>(
            batch, begin, [&]<int width>(const T* from, int i, int j, T* entry) {
                if (lower && j > i) return;
                core::copy_async<width* static_cast<int>(sizeof(T))>(entry, from);
            });
    }
    __device__ __forceinline__ void wait() const {
        core::commit_copies();
        core::wait_for_copies();
        __syncwarp();
    }
    /// Stores what `load` loads.
    template <int count, int length>
    __device__ __forceinline__ void store(const KernelView<T, 3>& batch, int begin = 0) const {
        __syncwarp();
        constexpr int most = length % chunk == 0 ? chunk : 1;
        for_each_piece<count, length, most>(batch, begin,
                                            [&]<int width>(T* to, int, int, const T* entry) {
                                                if constexpr (width == chunk) {
                                                    store_chunk(to, chunk_at(entry));
                                                } else {
                                                    *to = *entry;
                                                }
                                            });
    }
    /// Starts to copy right-hand sides [problem][r][row] from `begin` on to the columns from
    /// `column` on, with zeros beyond, or stores them.
    template <int sides>
    __device__ __forceinline__ void load_sides(const KernelView<T, 3>& x, int begin,
                                               int column) const {
        for_each_side<sides>(
            x, begin, column, [&](T& entry, int problem, int r, int i, bool exists) {
                if (exists) {
                    core::copy_async<sizeof(T)>(&entry, &x(at.first + problem, r, i));
                } else {
                    entry = T(RealOf<T>(0));
                }
            });
    }
    template <int sides>
    __device__ __forceinline__ void store_sides(const KernelView<T, 3>& x, int begin,
                                                int column) const {
        __syncwarp();
        for_each_side<sides>(x, begin, column,
                             [&](T& entry, int problem, int r, int i, bool exists) {
                                 if (exists) x(at.first + problem, r, i) = entry;
                             });
    }

  private:
    /// Entries that are loaded at once: 16 or 8 bytes where rows are a multiple of that.
    template <int length>
    static constexpr int load_width = length % chunk == 0                 ? chunk
                                      : sizeof(T) == 4 && length % 2 == 0 ? 2
                                                                          : 1;
    /// Whether these are single words, of which asynchronous copies are slow.
    template <int length>
    static constexpr bool single_words = load_width<length> == 1 && sizeof(T) == 4;

    /// The matrices of count x length of all problems, as load_gapless takes them.
    template <int count, int length>
    struct Part {
        static constexpr int problems = RowsPosition<lanes>::problems;
        static constexpr int rows = count;
        static constexpr int columns = length;
        __device__ __forceinline__ static int offset(int i) {
            const int row = i / length;
            return row / count * (problem_stride - count * row_stride) +
                   row * (row_stride - length) + i;
        }
    };
    /// Calls visit<width>(its address, row, column, entry of the tile) for pieces of matrices
    /// without gaps, else for single entries.
    template <int count, int length, int width, class U, class Visit>
    __device__ __forceinline__ void for_each_piece(const KernelView<U, 3>& batch, int begin,
                                                   const Visit& visit) const {
        constexpr int problems = RowsPosition<lanes>::problems;
        constexpr int matrix = count * length;
        constexpr unsigned pieces = matrix / width;
        const unsigned lane = static_cast<unsigned>(core::thread_rank()) % core::warp_size;
        T* const tile = first + begin * row_stride;
        U* const from = batch.data + at.first * batch.stride[0];
        if (gapless<Part<count, length>>(batch) &&
            reinterpret_cast<unsigned long long>(from) % (width * sizeof(T)) == 0) {
            APERTURE_UNROLL_BY(8)
            for (unsigned i = lane; i < problems * pieces; i += core::warp_size) {
                const int problem = static_cast<int>(i / pieces);
                const int row = static_cast<int>(i % pieces) / (length / width);
                const int column = static_cast<int>(i % (length / width)) * width;
                if (problem < at.valid) {
                    visit.template operator()<width>(
                        from + i * width, row, column,
                        tile + problem * problem_stride + row * row_stride + column);
                }
            }
            return;
        }
        const bool by_problems = interleaved(batch);
        APERTURE_UNROLL_BY(2)
        for (unsigned i = lane; i < static_cast<unsigned>(problems * matrix);
             i += core::warp_size) {
            const int problem = static_cast<int>(by_problems ? i % problems : i / matrix);
            const int entry = static_cast<int>(by_problems ? i / problems : i % matrix);
            const int row = entry / length;
            const int column = entry % length;
            if (problem < at.valid && row < batch.extent[1]) {
                visit.template operator()<1>(
                    from + problem * batch.stride[0] + row * batch.stride[1] +
                        column * batch.stride[2],
                    row, column, tile + problem * problem_stride + row * row_stride + column);
            }
        }
    }
    template <int sides, class Visit>
    __device__ __forceinline__ void for_each_side(const KernelView<T, 3>& x, int begin, int column,
                                                  const Visit& visit) const {
        constexpr int problems = RowsPosition<lanes>::problems;
        const auto existing = static_cast<int>(x.extent[1]);
        const bool by_problems = interleaved(x);
        APERTURE_UNROLL_BY(2)
        for (int i = core::lane_rank(); i < problems * sides * rows_; i += core::warp_size) {
            const int problem = by_problems ? i % problems : i / (sides * rows_);
            const int entry = by_problems ? i / problems : i % (sides * rows_);
            const int r = entry / rows_;
            const int row = entry % rows_;
            visit(first[problem * problem_stride + row * row_stride + column + r], problem,
                  begin + r, row, problem < at.valid && begin + r < existing);
        }
    }
};

/// U X = Y in place, with X and Y in rows: column by column, from the last one on.
/// `divide(slot, value)` divides by the diagonal of the lane's row in a slot, and
/// `load(slot, column)` is a chunk of that row.
template <int order, int lanes, int slots, int sides, class T, class Divide, class Load>
__device__ __forceinline__ void substitute_backwards(T (&x)[slots][sides], int lane, Divide divide,
                                                     Load load) {
    constexpr int chunk = chunk_entries<T>;
    APERTURE_UNROLL
    for (int first = (order - 1) / chunk * chunk; first >= 0; first -= chunk) {
        const int last = first + chunk < order ? first + chunk - 1 : order - 1;
        Chunk<T> row[slots];
        APERTURE_UNROLL
        for (int slot = 0; slot <= last / lanes; ++slot) row[slot] = load(slot, first);
        APERTURE_UNROLL
        for (int k = last; k >= first; --k) {
            const int slot_of_k = k / lanes;
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                const T solved =
                    core::broadcast<lanes>(divide(slot_of_k, x[slot_of_k][r]), k % lanes);
                APERTURE_UNROLL
                for (int slot = 0; slot < slot_of_k; ++slot) {
                    x[slot][r] =
                        core::multiply_add(x[slot][r], -row[slot].entry[k - first], solved);
                }
                T& its = x[slot_of_k][r];
                const T next = core::multiply_add(its, -row[slot_of_k].entry[k - first], solved);
                its = lane < k % lanes ? next : lane == k % lanes ? solved : its;
            }
        }
    }
}

}  // namespace aperture::dense
