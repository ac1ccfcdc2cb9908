// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first kernel of FourKernelCg: powers of B = M^-1 A on p and z, and their Gram matrix.

#include "libflow/gpu/ca_gram.cuh"
#include "libflow/gpu/ca_rounds.cuh"

namespace aperture::bench {

using namespace flow;
using namespace flow::gpu;
using core::index_t;

inline constexpr int most_vectors = 2 * most_steps + 1;
/// A block's window of pixels, halo included, for up to `steps` steps; `items` pixels a thread.
template <int rows_, int columns_, int threads_, int steps_>
struct PowersTile {
    static constexpr int steps = steps_;
    static constexpr int rows = rows_;
    static constexpr int columns = columns_;
    static constexpr int threads = threads_;
    static constexpr int pixels = rows * columns;
    static constexpr int items = pixels / threads;
    static_assert(items * threads == pixels);
};
/// For a few steps, and for more steps: their halo would fill the small window.
using FewSteps = PowersTile<32, 64, 512, 5>;
using ManySteps = PowersTile<64, 64, 512, most_steps>;

/// The basis has s + 1 vectors from p, then s from z.
struct RoundArguments {
    CaArguments ca;
    float* coordinates;  ///< [3][most_vectors]: x, z and p
    int parts;           ///< blocks that store the Gram matrix
};

/// Position of a window, and which of its pixels the block owns.
template <class Tile>
struct PowersWindow {
    int y0;
    int x0;
    int halo;
    int rows;  ///< of the image
    int columns;

    __device__ PowersWindow(const CaArguments& a, int tile)
        : halo(a.steps), rows(rows_of(a.system.tensor)), columns(columns_of(a.system.tensor)) {
        const int own_columns = Tile::columns - 2 * halo;
        const int across = (columns + own_columns - 1) / own_columns;
        y0 = tile / across * (Tile::rows - 2 * halo) - halo;
        x0 = tile % across * own_columns - halo;
    }
    /// Pixel `i` of the window: true if it is in the image and at least `margin` from the window's
    /// edge.
    __device__ __forceinline__ bool pixel(int i, int margin, int* y, int* x) const {
        const int row = i / Tile::columns;
        const int column = i % Tile::columns;
        *y = y0 + row;
        *x = x0 + column;
        return row >= margin && row < Tile::rows - margin && column >= margin &&
               column < Tile::columns - margin && *y >= 0 && *y < rows && *x >= 0 && *x < columns;
    }
};

/// Computes powers of B = M^-1 A on p and z over a window, up to `steps` and steps - 1, and stores
/// the block's own pixels in the basis. Copies the first vectors `p` and `z` there, too, unless
/// they are already in place. Shared memory: both vectors of the window. Values that a step needs
/// from neighbouring windows are recomputed. Ends with a barrier.
template <Coupling coupling, Boundary boundary, class Tile>
__device__ void build_basis(const CaArguments& a, const PowersWindow<Tile>& window, int steps,
                            float largest, const Planes<const float>& p,
                            const Planes<const float>& z, float* memory) {
    const auto offset = [&](int y, int x) {
        return (y - window.y0) * Tile::columns + x - window.x0;
    };
    const auto vector = [&](int which) {
        return [=](int y, int x) {
            const float* from = memory + 2 * which * Tile::pixels + offset(y, x);
            return Pair{from[0], from[Tile::pixels]};
        };
    };
    const auto set = [&](int which, int i, Pair value) {
        float* const to = memory + 2 * which * Tile::pixels + i;
        to[0] = value.u;
        to[Tile::pixels] = value.v;
    };
    const auto for_pixels = [&](int margin, const auto& visit) {
        APERTURE_UNROLL
        for (int k = 0; k < Tile::items; ++k) {
            const int i = core::thread_rank() + k * Tile::threads;
            int y = 0;
            int x = 0;
            if (window.pixel(i, margin, &y, &x)) visit(k, i, y, x);
        }
    };
    for_pixels(0, [&](int, int i, int y, int x) {
        set(0, i, pair_at(p, y, x));
        set(1, i, pair_at(z, y, x));
    });
    const auto copy = [&](const Planes<const float>& from, int place) {
        if (from.data == a.basis.data + 2 * place * a.basis.stride[0]) return;
        for_pixels(window.halo, [&](int, int, int y, int x) {
            store_vector(a.basis, place, y, x, pair_at(from, y, x));
        });
    };
    copy(p, 0);
    copy(z, steps + 1);
    __syncthreads();
    Pair before[2][Tile::items] = {};
    Pair next[2][Tile::items];
    for (int step = 0; step < steps; ++step) {
        const float shift = largest * a.recurrence.shift[step];
        const float back = largest * a.recurrence.back[step];
        const float scale = 1.0F / (largest * a.recurrence.scale[step]);
        const int vectors = step + 1 < steps ? 2 : 1;
        for_pixels(step + 1, [&](int k, int, int y, int x) {
            APERTURE_UNROLL
            for (int which = 0; which < 2; ++which) {
                if (which >= vectors) continue;
                const auto field = vector(which);
                const Pair now = field(y, x);
                Pair product = multiply<coupling, boundary>(a.system, y, x, now, field);
                if (a.precondition) product = block_at(a.system.inverse, y, x) * product;
                next[which][k] = scale * (product - shift * now - back * before[which][k]);
            }
        });
        __syncthreads();
        for_pixels(step + 1, [&](int k, int i, int y, int x) {
            APERTURE_UNROLL
            for (int which = 0; which < 2; ++which) {
                if (which >= vectors) continue;
                before[which][k] = vector(which)(y, x);
                set(which, i, next[which][k]);
            }
        });
        for_pixels(window.halo, [&](int k, int, int y, int x) {
            store_vector(a.basis, step + 1, y, x, next[0][k]);
            if (vectors == 2) store_vector(a.basis, steps + 2 + step, y, x, next[1][k]);
        });
        __syncthreads();
    }
}

/// Entries of a Gram matrix are computed in squares of gram_square x gram_square on and above the
/// diagonal, ordered by column of squares.
inline constexpr int gram_square = 4;
inline constexpr int gram_entries = gram_square * gram_square;

APERTURE_HD constexpr int gram_squares(int vectors) {
    const int across = (vectors + gram_square - 1) / gram_square;
    return across * (across + 1) / 2;
}
/// Adds the block's own pixels to the Gram matrix Y^T M Y, or to Y^T M^2 Y: entries thread_rank() +
/// k block_threads() of its squares to sums[k]. A thread sums its few pixels, Tile::threads apart,
/// in float. All else is in double, because the basis's condition number amplifies errors here.
/// Shared memory: a double for each entry and warp. Ends with a barrier.
template <Coupling coupling, class Tile, int kept>
__device__ void add_gram(const CaArguments& a, const PowersWindow<Tile>& window, int vectors,
                         bool squared, double* memory, double (&sums)[kept]) {
    constexpr int warps = Tile::threads / core::warp_size;
    const int squares = gram_squares(vectors);
    for (int square = 0; square < squares; ++square) {
        int row = 0;
        int column = 0;
        locate_entry(square, &row, &column);
        float entries[gram_entries] = {};
        for (int i = core::thread_rank(); i < Tile::pixels; i += Tile::threads) {
            int y = 0;
            int x = 0;
            if (!window.pixel(i, window.halo, &y, &x)) continue;
            SymmetricBlock m{1.0F, 0.0F, 1.0F};
            if (a.precondition) {
                m = block_at(a.system.tensor, y, x);
                const float d = degree<coupling>(a.system, y, x);
                m.a11 += d;
                m.a22 += d;
            }
            const auto load = [&](int k, bool weighted) {
                if (k >= vectors) return Pair{0.0F, 0.0F};
                const Pair v = vector_at(a.basis, k, y, x);
                return weighted ? m * v : v;
            };
            Pair right[gram_square];
            APERTURE_UNROLL
            for (int j = 0; j < gram_square; ++j) right[j] = load(gram_square * column + j, true);
            APERTURE_UNROLL
            for (int j = 0; j < gram_square; ++j) {
                const Pair left = load(gram_square * row + j, squared);
                APERTURE_UNROLL
                for (int k = 0; k < gram_square; ++k) {
                    entries[gram_square * j + k] += dot(left, right[k]);
                }
            }
        }
        const double sum = sum_over_lanes(entries);
        if (core::lane_rank() % 2 == 0) {
            const int entry = gram_entries * square + core::lane_rank() / 2;
            memory[entry * warps + core::warp_rank()] = sum;
        }
    }
    __syncthreads();
    APERTURE_UNROLL
    for (int k = 0; k < kept; ++k) {
        const int entry = core::thread_rank() + k * Tile::threads;
        if (entry >= gram_entries * squares) continue;
        for (int warp = 0; warp < warps; ++warp) {
            sums[k] += memory[entry * warps + warp];
        }
    }
    __syncthreads();
}

/// Evaluates the previous round. Then computes the basis and the block's part of its Gram matrix,
/// and of Y^T M^2 Y if a history is kept. Block: windows of Tile, gridDim apart, less `halo` on
/// every side; a thread has Tile::items pixels. Shared memory: two vectors of the window, later a
/// double for each entry of the Gram matrix and warp. Per pixel: 40 bytes read, times the ratio of
/// the window to its own pixels; 8 (2 s - 1) bytes written, which the Gram matrix reads from the
/// cache; 2 (2 s - 1) products with A, 16 flops each.
template <Coupling coupling, Boundary boundary, class Tile>
__global__ void __launch_bounds__(Tile::threads) ca_powers_kernel(RoundArguments round) {
    const CaArguments& a = round.ca;
    const CaState state = evaluate_round(a);
    if (first_thread()) a.states[1] = state;
    if (state.stopped != 0) return;
    // The window reuses the memory of the totals.
    __syncthreads();
    float* const memory = core::shared<float>();
    double* const sums = core::shared<double>();
    const int vectors = 2 * state.steps + 1;
    const auto part_of_basis = [&](int k) {
        Planes<const float> part = a.basis;
        part.data += 2 * k * part.stride[0];
        return part;
    };
    const Planes<const float> true_scaled = a.scaled[state.current];
    const Planes<const float> p = state.restart != 0 ? true_scaled : part_of_basis(0);
    const Planes<const float> z =
        state.replaced != 0 ? true_scaled : part_of_basis(state.steps + 1);
    constexpr int kept =
        (gram_entries * gram_squares(2 * Tile::steps + 1) + Tile::threads - 1) / Tile::threads;
    double gram[kept] = {};
    double norms[kept] = {};
    const int own_rows = Tile::rows - 2 * a.steps;
    const int own_columns = Tile::columns - 2 * a.steps;
    const int tiles = (rows_of(a.system.tensor) + own_rows - 1) / own_rows *
                      ((columns_of(a.system.tensor) + own_columns - 1) / own_columns);
    for (int tile = static_cast<int>(blockIdx.x); tile < tiles;
         tile += static_cast<int>(gridDim.x)) {
        const PowersWindow<Tile> window(a, tile);
        build_basis<coupling, boundary>(a, window, state.steps, static_cast<float>(state.largest),
                                        p, z, memory);
        add_gram<coupling>(a, window, vectors, false, sums, gram);
        if (a.history != nullptr) add_gram<coupling>(a, window, vectors, true, sums, norms);
    }
    const int entries = gram_entries * gram_squares(vectors);
    APERTURE_UNROLL
    for (int k = 0; k < kept; ++k) {
        const int entry = core::thread_rank() + k * Tile::threads;
        if (entry >= entries) continue;
        a.gram[entry * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)] = gram[k];
        if (a.history == nullptr) continue;
        a.gram[(entries + entry) * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)] =
            norms[k];
    }
}

}  // namespace aperture::bench
