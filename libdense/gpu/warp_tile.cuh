// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrices of a warp's problems in shared memory, with a group of `lanes` = 1, 2, 4, ... 32 lanes a
// problem: tiles that kernels work in, and matrices on their way between global memory and
// registers.
//
// Rows of a tile are an odd number of chunks of 16 bytes, so that neighbouring lanes load chunks of
// theirs without bank conflicts. So are rows on their way that are a multiple of 16 bytes. Others
// are packed as they are in memory, where the matrices of a warp are one run of entries, which is
// copied by chunks, too.
//
// Matrices that are no run by rows are copied by entries. Neighbouring threads have neighbours of
// memory, and each goes on by steps of which all have the same size, so that its places in shared
// memory are constants. Where a warp's part of a line of problems is less than a sector, the warps
// of a block share the copies of their problems.

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
          valid(existing(all_problems - first, problems)),
          local(core::lane_rank() / lanes),
          lane(core::lane_rank() % lanes) {}

    __device__ __forceinline__ bool exists() const { return local < valid; }
    __device__ __forceinline__ index_t problem() const { return first + local; }
    /// Of the block.
    __device__ __forceinline__ int valid_of_block(index_t all_problems) const {
        return existing(all_problems - first + core::warp_rank() * problems, rows_threads / lanes);
    }

  private:
    __device__ __forceinline__ static int existing(index_t left, int most) {
        return left < most ? (left > 0 ? static_cast<int>(left) : 0) : most;
    }
};

/// Entries from a row to the next: neighbouring lanes have chunks of theirs in different banks. A
/// thread that has a problem loads the same chunk of it as its neighbours of theirs.
template <class T>
APERTURE_HD constexpr int rows_stride(int columns, int lanes) {
    const int chunks = (columns + chunk_entries<T> - 1) / chunk_entries<T>;
    return (lanes == 1 ? chunks : chunks | 1) * chunk_entries<T>;
}
/// Entries from a problem to the next, where the banks of `lanes` entries end.
template <class T>
APERTURE_HD constexpr int rows_problem_stride(int rows, int columns, int lanes) {
    constexpr int all_banks = 128 / 16;
    const int chunks = rows * rows_stride<T>(columns, lanes) / chunk_entries<T>;
    const int its = lanes > chunk_entries<T> ? lanes / chunk_entries<T> : 1;
    const int gap =
        lanes == 1 ? 1 - chunks % 2 : ((its - chunks) % all_banks + all_banks) % all_banks;
    return (chunks + gap) * chunk_entries<T>;
}

/// Blocks on a multiprocessor of which threads have so many registers. Compilers that are asked for
/// them load further ahead than those that save registers for more.
constexpr int resident_blocks(int registers) { return registers < 512 ? 512 / registers : 1; }

/// Entries of shared memory for a matrix of each of a block's problems: in a tile or, with room in
/// the chunks in which they may begin and end, packed.
template <class T>
APERTURE_HD constexpr int rows_shared_entries(int rows, int columns, int lanes) {
    constexpr int chunk = chunk_entries<T>;
    const int problems = core::warp_size / lanes;
    const int tile = problems * rows_problem_stride<T>(rows, columns, lanes);
    const int packed = columns % chunk == 0 ? 0 : (problems * rows * columns / chunk + 3) * chunk;
    return rows_threads / core::warp_size * (tile > packed ? tile : packed);
}
template <class T>
APERTURE_HD constexpr int rows_shared_bytes(int rows, int columns, int lanes) {
    return rows_shared_entries<T>(rows, columns, lanes) * static_cast<int>(sizeof(T));
}

/// Entries that are loaded or stored at once.
template <class T, int count>
struct alignas(count * sizeof(T)) Piece {
    T entry[count];
};

/// Moves entry[begin], ... entry[begin + count - 1] by one place; the first becomes the last. So
/// steps share code of which each works on the next register: unrolled, kernels of order 32 take
/// two to three times as long to compile and wait for instructions.
template <int width, class T>
__device__ __forceinline__ void rotate_entries(T (&entry)[width], int begin, int count) {
    const T first = entry[begin];
    APERTURE_UNROLL
    for (int i = begin + 1; i < begin + count; ++i) entry[i - 1] = entry[i];
    entry[begin + count - 1] = first;
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

/// A warp's part of an area for a block.
template <class T>
struct WarpArea {
    T* own;
    int stride;  ///< to that of the next warp

    __device__ __forceinline__ WarpArea(T* area, int its_stride)
        : own(area + core::warp_rank() * its_stride), stride(its_stride) {}
    __device__ __forceinline__ T* of_block() const { return own - core::warp_rank() * stride; }
};

/// That of an `area` for the matrices of a block.
template <class T>
__device__ __forceinline__ WarpArea<T> warp_area(T* area, int rows, int columns, int lanes) {
    return WarpArea<T>(
        area, rows_shared_entries<T>(rows, columns, lanes) / (rows_threads / core::warp_size));
}

/// Rows of this lane's problem, in which kernels work, in the warp's area.
template <class T, int rows, int columns, int lanes>
struct WarpTile {
    static constexpr int row_stride = rows_stride<T>(columns, lanes);
    static constexpr int problem_stride = rows_problem_stride<T>(rows, columns, lanes);
    T* own;

    __device__ __forceinline__ WarpTile(const RowsPosition<lanes>& at, const WarpArea<T>& area)
        : own(area.own + at.local * problem_stride) {}

    __device__ __forceinline__ T* row(int i) const { return own + i * row_stride; }
};

/// Waits for the warps of a block or, in almost all cases, only for the lanes of one.
__device__ __forceinline__ void synchronise(bool block) {
    if (block) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}

/// Matrices of a warp's problems on their way from a batch to registers, or back, in the warp's
/// area.
template <class T, int rows, int columns, int lanes>
struct StagedMatrices {
    static constexpr int chunk = chunk_entries<T>;
    static constexpr int problems = RowsPosition<lanes>::problems;
    static constexpr int matrix = rows * columns;
    static constexpr bool packed = columns % chunk != 0;
    /// Entries of a row that a lane loads or stores at once in shared memory.
    static constexpr int width = !packed ? chunk : sizeof(T) == 4 && columns % 2 == 0 ? 2 : 1;
    static constexpr int row_stride = packed ? columns : rows_stride<T>(columns, lanes);
    static constexpr int problem_stride =
        packed ? matrix : rows_problem_stride<T>(rows, columns, lanes);

    /// Whether a warp has less than a sector of a line of problems.
    static constexpr bool shares_sectors = matrix > 1 && problems * sizeof(T) < 32;

    RowsPosition<lanes> at;
    WarpArea<T> area;
    bool one_run;  ///< the warp's matrices are, in memory
    int shift;     ///< entries of the chunk in which they begin that are not theirs
    T* first;

    template <class U>
    __device__ __forceinline__ StagedMatrices(const RowsPosition<lanes>& position,
                                              const WarpArea<T>& its_area,
                                              const KernelView<U, 3>& batch)
        : at(position), area(its_area) {
        const auto address =
            reinterpret_cast<unsigned long long>(batch.data + at.first * batch.stride[0]);
        one_run = batch.extent[1] == rows && batch.stride[2] == 1 &&
                  (rows == 1 || batch.stride[1] == columns) && batch.stride[0] == matrix &&
                  address % (width * sizeof(T)) == 0;
        shift = packed && one_run ? static_cast<int>(address / sizeof(T) % chunk) : 0;
        first = area.own + shift;
    }

    /// Whether the warps of a block copy the matrices of all.
    template <class U>
    __device__ __forceinline__ static bool by_blocks(const KernelView<U, 3>& batch) {
        return shares_sectors && interleaved(batch);
    }

    /// Row i of this lane's problem.
    __device__ __forceinline__ T* row(int i) const {
        return first + at.local * problem_stride + i * row_stride;
    }
    /// Calls visit(j, entry) for the first `count` entries of row i.
    template <class Visit>
    __device__ __forceinline__ void for_each_in_row(int i, int count, const Visit& visit) const {
        const T* const its = row(i);
        APERTURE_UNROLL
        for (int j = 0; j < columns; j += width) {
            if (j >= count) continue;
            const auto piece = *reinterpret_cast<const Piece<T, width>*>(its + j);
            APERTURE_UNROLL
            for (int e = 0; e < width; ++e) {
                if (j + e < count) visit(j + e, piece.entry[e]);
            }
        }
    }
    /// Fills row i with value(j).
    template <class Value>
    __device__ __forceinline__ void fill_row(int i, const Value& value) const {
        T* const its = row(i);
        APERTURE_UNROLL
        for (int j = 0; j < columns; j += width) {
            Piece<T, width> piece;
            APERTURE_UNROLL
            for (int e = 0; e < width; ++e) piece.entry[e] = value(j + e);
            *reinterpret_cast<Piece<T, width>*>(its + j) = piece;
        }
    }

    /// Starts to copy the matrices, or their lower triangles and perhaps more; wait_for_matrices()
    /// must follow. No warp may still need what is in the area if copies are `by_blocks`.
    template <bool lower = false, class U>
    __device__ __forceinline__ void load(const KernelView<U, 3>& batch) const {
        for_each_piece<8>(batch, [&]<int count>(const T* from, int i, int j, T* entry) {
            // Behind the end of a row is the next one, of which the first entry is wanted.
            if (lower && j > i && j + count <= columns) return;
            core::copy_async<count* static_cast<int>(sizeof(T))>(entry, from);
        });
    }
    /// After it the area is free if copies are `by_blocks`.
    __device__ __forceinline__ void store(const KernelView<T, 3>& batch) const {
        synchronise(by_blocks(batch));
        for_each_piece<4>(batch, [&]<int count>(T* to, int, int, const T* entry) {
            using Entries = Piece<T, count>;
            *reinterpret_cast<Entries*>(to) = *reinterpret_cast<const Entries*>(entry);
        });
        if (by_blocks(batch)) __syncthreads();
    }

  private:
    /// Calls visit<count>(its address, row, column, place in shared memory) for chunks of aligned
    /// rows or of packed matrices in one run, else for single entries.
    template <int at_once, class U, class Visit>
    __device__ __forceinline__ void for_each_piece(const KernelView<U, 3>& batch,
                                                   const Visit& visit) const {
        U* const from = batch.data + at.first * batch.stride[0];
        if constexpr (packed) {
            if (one_run) return for_each_in_run<at_once>(from, visit);
        } else if constexpr (chunk > 1) {
            if (rows_are_aligned(batch)) {
                return for_each_in_lines<of_columns, chunk>(batch, from, visit);
            }
        }
        if (interleaved(batch)) {
            if constexpr (shares_sectors) {
                U* const of_block = from - core::warp_rank() * problems;
                for_each_in_lines<of_problems, 1, rows_threads>(batch, of_block, visit);
            } else {
                for_each_in_lines<of_problems>(batch, from, visit);
            }
        } else if (rows > 1 && batch.stride[1] == 1) {
            for_each_in_lines<of_rows>(batch, from, visit);
        } else {
            for_each_in_lines<of_columns>(batch, from, visit);
        }
    }
    template <class U>
    __device__ __forceinline__ static bool rows_are_aligned(const KernelView<U, 3>& batch) {
        const auto bytes = [](index_t entries) {
            return static_cast<unsigned>(entries) * static_cast<unsigned>(sizeof(T));
        };
        const auto address =
            static_cast<unsigned>(reinterpret_cast<unsigned long long>(batch.data));
        return batch.stride[2] == 1 &&
               (address | bytes(batch.stride[0]) | (rows > 1 ? bytes(batch.stride[1]) : 0)) % 16 ==
                   0;
    }
    template <int at_once, class U, class Visit>
    __device__ __forceinline__ void for_each_in_run(U* from, const Visit& visit) const {
        const auto piece = [&]<int count>(int i) {
            const auto entry = static_cast<unsigned>(i);
            visit.template operator()<count>(from + i, static_cast<int>(entry / columns % rows),
                                             static_cast<int>(entry % columns), first + i);
        };
        const int end = at.valid * matrix;
        // Chunks of memory begin `shift` entries ahead of those of the run.
        const int head = (chunk - shift) % chunk;
        const int tail = (shift + end) / chunk * chunk - shift;
        APERTURE_UNROLL_BY(at_once)
        for (int i = head + static_cast<int>(lane()) * chunk; i < tail;
             i += core::warp_size * chunk) {
            piece.template operator()<chunk>(i);
        }
        const int edge = static_cast<int>(lane()) % chunk;
        const int i = lane() < chunk ? edge : (tail > head ? tail : head) + edge;
        if (lane() < 2 * chunk && i < (lane() < chunk && head < end ? head : end)) {
            piece.template operator()<1>(i);
        }
    }
    /// The dimension of a batch along which lines are.
    enum Lines { of_problems, of_rows, of_columns };
    /// Threads are neighbours along a line, then along the middle dimension, then the slow one.
    /// Those that would have to divide by other numbers than these have nothing to do.
    template <int fast, int count = 1, int threads = core::warp_size, class U, class Visit>
    __device__ __forceinline__ void for_each_in_lines(const KernelView<U, 3>& batch, U* from,
                                                      const Visit& visit) const {
        constexpr int middle = fast == of_columns ? of_rows : of_columns;
        constexpr int slow = fast == of_problems ? of_rows : of_problems;
        constexpr int sizes[] = {threads / lanes, rows, columns / count};
        constexpr int places[] = {problem_stride, row_stride, count};
        // Threads along each dimension, and how often all of them have to go on by as many.
        constexpr int along = sizes[fast] < threads ? sizes[fast] : threads;
        constexpr int lines = threads / along;
        constexpr int across = sizes[middle] < lines ? sizes[middle] : lines;
        constexpr int deep = sizes[slow] < lines / across ? sizes[slow] : lines / across;
        constexpr int fast_steps = (sizes[fast] + along - 1) / along;
        constexpr int middle_steps = (sizes[middle] + across - 1) / across;
        constexpr int slow_steps = (sizes[slow] + deep - 1) / deep;
        constexpr int at_once = 8 / fast_steps;
        [[maybe_unused]] constexpr int middle_at_once =
            middle_steps < at_once ? middle_steps : at_once;
        constexpr int slow_at_once = at_once > middle_steps ? at_once / middle_steps : 1;
        // Registers of the work between a load and a store must not keep what both need.
        const int thread =
            core::anew(threads > core::warp_size ? core::thread_rank() : core::lane_rank());
        const int first_along = thread % along;
        const int first_across = thread / along % across;
        const int first_deep = thread / (along * across);
        const int valid[] = {
            threads > core::warp_size ? at.valid_of_block(batch.extent[0]) : at.valid,
            batch.extent[1] < rows ? static_cast<int>(batch.extent[1]) : rows, sizes[2]};
        if (first_deep >= deep || first_along >= valid[fast]) return;
        const bool last_exists = first_across + (middle_steps - 1) * across < sizes[middle];
        T* place = threads > core::warp_size
                       ? area.of_block() + first_along / problems * area.stride +
                             first_along % problems * problem_stride
                       : first + first_along * places[fast];
        place += first_across * places[middle] + first_deep * places[slow];
        from += first_along * count * batch.stride[fast] + first_across * batch.stride[middle] +
                first_deep * batch.stride[slow];
        const index_t middle_step = across * batch.stride[middle];
        const index_t slow_step = deep * batch.stride[slow];
        APERTURE_UNROLL_BY(slow_at_once)
        for (int s = 0; s < slow_steps; ++s) {
            const bool lines_exist = first_deep + s * deep < valid[slow];
            if (slow_at_once == 1 && !lines_exist) break;
            U* its = from;
            from += slow_step;
            APERTURE_UNROLL_BY(middle_at_once)
            for (int m = 0; m < middle_steps; ++m) {
                APERTURE_UNROLL
                for (int f = 0; f < fast_steps; ++f) {
                    int index[3];
                    index[fast] = first_along + f * along;
                    index[middle] = first_across + m * across;
                    index[slow] = first_deep + s * deep;
                    const bool exists = lines_exist &&
                                        (middle == of_rows ? index[middle] < valid[middle]
                                                           : m + 1 < middle_steps || last_exists) &&
                                        (fast_steps == 1 || index[fast] < valid[fast]);
                    if (exists) {
                        visit.template operator()<count>(
                            its + f * along * count * batch.stride[fast], index[of_rows],
                            index[of_columns] * count,
                            place + s * deep * places[slow] + m * across * places[middle] +
                                f * along * places[fast]);
                    }
                }
                its += middle_step;
            }
        }
    }
    __device__ __forceinline__ static unsigned lane() {
        return static_cast<unsigned>(core::thread_rank()) % core::warp_size;
    }
};

/// Completes StagedMatrices::load for all lanes; `by_blocks`: for all warps.
__device__ __forceinline__ void wait_for_matrices(bool by_blocks) {
    core::commit_copies();
    core::wait_for_copies();
    synchronise(by_blocks);
}

/// A batch of vectors as one of matrices that have a row.
template <class T>
__device__ __forceinline__ KernelView<T, 3> as_rows(const KernelView<T, 2>& vectors) {
    KernelView<T, 3> rows{};
    rows.data = vectors.data;
    rows.extent[0] = vectors.extent[0];
    rows.extent[1] = 1;
    rows.extent[2] = vectors.extent[1];
    rows.stride[0] = vectors.stride[0];
    rows.stride[1] = vectors.extent[1];
    rows.stride[2] = vectors.stride[1];
    return rows;
}

/// The right-hand sides [problem][r][row] from r = `begin` on.
template <class T>
__device__ __forceinline__ KernelView<T, 3> sides_from(KernelView<T, 3> x, int begin) {
    x.data += begin * x.stride[1];
    x.extent[1] -= begin;
    return x;
}

/// Loads the matrices of a batch to a lane's registers; `by_blocks`: completes other loads, too.
template <bool lower = false, class Registers, int lanes, class T, class U>
__device__ __forceinline__ void load_matrices(Registers& registers, const RowsPosition<lanes>& at,
                                              const WarpArea<T>& shared,
                                              const KernelView<U, 3>& batch,
                                              bool by_blocks = false) {
    const typename Registers::Matrix staged(at, shared, batch);
    staged.template load<lower>(batch);
    wait_for_matrices(by_blocks || staged.by_blocks(batch));
    registers.load(staged);
}

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
