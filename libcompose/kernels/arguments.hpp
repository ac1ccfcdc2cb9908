// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"

/// How kernels walk over their elements. The interpreter does the same, so that sums have the same
/// order everywhere: those of pieces of rows, entry i of a piece in lane i mod 32; of strips of 8
/// rows, one piece after the other; of the strips, strip s in lane s mod 32. Sums of 32 lanes add
/// halves to halves. The sum of a row: piece p in lane p mod 32. Of a column: strips of 32 rows,
/// one entry after the other; groups of 8 strips, neighbours added to neighbours; group g in lane
/// g mod 32.
namespace aperture::compose::kernels {

using core::index_t;

inline constexpr int piece_length = 256;
inline constexpr int lanes = 32;
inline constexpr index_t strip_rows = 8;
/// Rows of a strip where columns are added up.
inline constexpr index_t row_strip = 32;
inline constexpr index_t strips_of_group = 8;  ///< a power of two
/// Rows that a warp of a device adds up where there are no sums of columns.
inline constexpr index_t rows_of_task = 8;
/// A vector is walked over in rows.
inline constexpr index_t vector_row = 4096;

/// Problems of batches are walked over in strips of 64.
inline constexpr index_t problems_of_row = 8;

/// Numbers from a problem to the next in a device's shared memory. Large groups have theirs aligned
/// to pieces of 16 bytes. Small ones share a warp and must not meet in a bank: their problems are
/// an odd number of numbers apart, or of pieces where copies number by number would take too long.
APERTURE_HD constexpr index_t stride_of_problems(int threads, index_t size, index_t bytes) {
    const index_t piece = 16 / bytes;
    if (threads >= lanes) return (size + piece - 1) / piece * piece;
    return size % piece == 0 && size >= 64 ? (size / piece | 1) * piece : size | 1;
}

/// The rows of a kernel's elements: of all planes of an array, or of a vector.
struct Walk {
    index_t rows = 0, columns = 0;
    index_t rows_of_plane = 0;  ///< 0 of a vector
    index_t count = 0;          ///< elements; the last row of a vector may be shorter

    APERTURE_HD index_t row_length(index_t row) const {
        const index_t left = count - row * columns;
        return left < columns ? left : columns;
    }
    APERTURE_HD index_t pieces_of_row() const {
        return (columns + piece_length - 1) / piece_length;
    }
    APERTURE_HD index_t pieces() const { return rows * pieces_of_row(); }
    APERTURE_HD index_t strips() const { return (rows + strip_rows - 1) / strip_rows; }
    APERTURE_HD index_t row_strips() const { return (rows + row_strip - 1) / row_strip; }
    /// Of so many strips.
    APERTURE_HD index_t row_parts(index_t strips) const {
        return (row_strips() + strips - 1) / strips;
    }
};

/// Memory of a number of any type.
struct alignas(16) SumNumber {
    unsigned char bytes[16];

    template <class T>
    APERTURE_HD T as() const {
        return *reinterpret_cast<const T*>(bytes);
    }
    template <class T>
    APERTURE_HD void set(T value) {
        *reinterpret_cast<T*>(bytes) = value;
    }
};

/// What blocks load and what others store are not in one line of a cache.
inline constexpr index_t sums_apart = 128 / sizeof(SumNumber);

/// What kernels are called with.
struct KernelArguments {
    void* const* symbols;  ///< memory of each of the program's symbols
    Walk walk;
    /// Of kernels that sum: on a CPU [sum][strip]; on a device [sum][piece], and `sums_apart`
    /// further [sum][strip]. Of those that add up rows and columns: [sum][piece][row] on a device,
    /// then [sum][part][column], parts of one or more strips. On a device, and of rows and columns,
    /// numbers of a sum's type are at the begin of its part.
    SumNumber* sums;
    /// On a device: 0 before and after a kernel.
    unsigned* blocks_done;
};

/// Values of a sweep that a device computes side by side at most.
inline constexpr int most_values = 32;

/// What kernels of a device are called with: blocks with the same blockIdx.z compute one of several
/// values, or the only one.
struct GridArguments {
    Walk walk;
    SumNumber* sums;
    index_t sums_of_value;
    unsigned* blocks_done;
    void* const* symbols[most_values];

    APERTURE_HD KernelArguments of(unsigned value) const {
        return {symbols[value], walk, sums + value * sums_of_value, blocks_done + value};
    }
};

/// What a kernel that is a loop is called with.
struct LoopArguments {
    void** symbols;                ///< as above; changes where symbols exchange memory
    SumNumber* sums;               ///< twice as many as one of its kernels needs
    unsigned long long* arrivals;  ///< of a core::GridBarrier
    int* unended;                  ///< becomes 1 if a loop reaches its limit
};

}  // namespace aperture::compose::kernels
