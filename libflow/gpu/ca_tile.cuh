// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A tile of the image with its part of the basis of communication-avoiding CG in a block's shared
// memory: the pixel-wise stages of ca_on_chip_kernel.

#include "libflow/gpu/ca_rounds.cuh"

namespace aperture::flow::gpu {

/// Threads of a block: few enough that 45 sums of a Gram matrix and all else fit 136 registers a
/// thread.
inline constexpr int on_chip_threads = 480;

/// Positions in shared memory, in pairs, of the vectors of a basis for up to `most` steps: p_0,
/// ..., p_most and then z_0, ..., z_(most - 1). Each has a border around the tile, as wide as later
/// steps need: s pixels for p_0, one less for every step, and for z one less than for p. The border
/// is at least one pixel, where p_s and z_(s - 1) are zero. Vectors beyond s steps share the place
/// of p_0, with zero coordinates.
template <int most>
struct BasisLayout {
    static constexpr int vectors = 2 * most + 1;
    static constexpr int first_scaled = most + 1;  ///< z_0
    /// The solution replaces p_1, pixel by pixel, once the coordinates are known.
    static constexpr int solution = 1;

    int origin[vectors];  ///< of the tile's first pixel
    int pitch[vectors];
    int pairs;  ///< of all vectors
    int halo;   ///< border of p_0
    int rows;   ///< of a tile
    int columns;
};

/// Vectors of a group in Gram products. The sums of a group fit in a thread's registers: all nine
/// vectors of four steps at once.
template <int most>
inline constexpr int gram_group = most <= 4 ? 2 * most + 1 : 6;

/// Shared memory of a block, before its basis.
template <int most>
struct OnChipMemory {
    static constexpr int vectors = BasisLayout<most>::vectors;
    static constexpr int most_products =
        most <= 4 ? vectors * (vectors + 1) / 2 : gram_group<most> * gram_group<most>;
    static constexpr int warps = on_chip_threads / core::warp_size;

    /// First, because reductions.cuh uses the start of shared memory.
    double sums[most_products * warps > on_chip_threads ? most_products* warps : on_chip_threads];
    CaState state;
    CoordinateMemory<vectors> solver;
    float coordinates[3 * vectors + 1];
};

template <int most>
struct OnChipArguments {
    CaArguments ca;
    BasisLayout<most> layout;
    Sums<3>* residuals;  ///< as ca.residuals, for the tiles
};

/// A vector of the basis on a tile and its border.
struct TileVector {
    Pair* first;  ///< of the tile
    int pitch;
    /// The image's first and last row and column, unless the border ends with them: values beyond
    /// are not read then.
    int top;
    int bottom;
    int left;
    int right;

    __device__ __forceinline__ Pair& operator()(int row, int column) const {
        return first[row * pitch + column];
    }
};

template <Coupling coupling, Boundary boundary, int most>
class CaTile {
  public:
    using Layout = BasisLayout<most>;
    static constexpr int most_steps = most;
    static constexpr int vectors = Layout::vectors;
    static constexpr int first_scaled = Layout::first_scaled;

    __device__ CaTile(const OnChipArguments<most>& arguments, OnChipMemory<most>* memory)
        : a_(arguments), memory_(*memory), basis_(reinterpret_cast<Pair*>(memory + 1)) {
        const int across = (image_columns() + a_.layout.columns - 1) / a_.layout.columns;
        const int tile = static_cast<int>(blockIdx.x);
        y0_ = tile / across * a_.layout.rows;
        x0_ = tile % across * a_.layout.columns;
    }

    __device__ __forceinline__ const OnChipArguments<most>& arguments() const { return a_; }
    __device__ __forceinline__ OnChipMemory<most>& memory() const { return memory_; }

    /// Clears all vectors: their borders are not written everywhere. The caller must add a barrier.
    __device__ void clear() const {
        for (int i = core::thread_rank(); i < a_.layout.pairs; i += on_chip_threads) {
            basis_[i] = {0.0F, 0.0F};
        }
    }

    /// Loads p_0 and z_0 with their borders: the published ones or the true residual. Ends with a
    /// barrier.
    __device__ void load_first_vectors() const {
        const CaState& state = memory_.state;
        const int halo = a_.layout.halo;
        const auto load = [&](const TileVector& to_vector, int border, const Planes<float>& from,
                              int plane, bool whole) {
            for_cells(border, nothing, [&](int row, int column, int) {
                if (!whole && in_tile(row, column, 0)) return;
                for_places(to_vector, row, column, [&](Pair* to) {
                    core::copy_async<4>(&to->u, &from(plane, y0_ + row, x0_ + column));
                    core::copy_async<4>(&to->v, &from(plane + 1, y0_ + row, x0_ + column));
                });
            });
        };
        const bool fresh_p = state.restart != 0;
        const bool fresh_z = state.replaced != 0;
        const Planes<float>& published = a_.ca.basis;
        const Planes<float>& scaled = a_.ca.scaled[state.current];
        load(vector(0), halo, fresh_p ? scaled : published, 0, fresh_p);
        load(vector(first_scaled), halo - 1, fresh_z ? scaled : published, fresh_z ? 0 : 2,
             fresh_z);
        core::commit_copies();
        core::wait_for_copies();
        __syncthreads();
    }

    /// Computes powers of B on p_0 and z_0, as many as the round has steps and one less. Clears the
    /// other vectors. Ends with a barrier.
    __device__ void build_basis() const {
        const RecurrenceTable& recurrence = a_.ca.recurrence;
        const auto largest = static_cast<float>(memory_.state.largest);
        const int steps = memory_.state.steps;
        const Planes<const float>& blocks =
            a_.ca.precondition ? a_.ca.system.inverse : a_.ca.system.tensor;
        const auto load = [&](int y, int x) { return block_at(blocks, y, x); };
        for (int step = 0; step < steps; ++step) {
            const float scale = 1.0F / (largest * recurrence.scale[step]);
            const float shift = scale * largest * recurrence.shift[step];
            const float back = scale * largest * recurrence.back[step];
            const auto advance = [&](const TileVector& last, const TileVector& v,
                                     const TileVector& next, int row, int column,
                                     const SymmetricBlock& block) {
                const Pair now = v(row, column);
                Pair value = scaled_product(scale, shift, block, v, row, column, now);
                if (back != 0.0F) value = value - back * last(row, column);
                put(next, row, column, value);
            };
            // The first step has no previous vector; its `back` is zero.
            const int before = step > 0 ? step - 1 : 0;
            const TileVector p[]{vector(before), vector(step), vector(step + 1)};
            const bool both = step + 1 < steps;
            const int z_step = first_scaled + step;
            const TileVector z[]{vector(first_scaled + before), vector(z_step),
                                 vector(both ? z_step + 1 : z_step)};
            const int border = a_.layout.halo - step - 1;
            for_cells(border, load, [&](int row, int column, const SymmetricBlock& block) {
                advance(p[0], p[1], p[2], row, column, block);
                if (both && in_tile(row, column, border - 1)) {
                    advance(z[0], z[1], z[2], row, column, block);
                }
            });
            __syncthreads();
        }
        if (steps == a_.ca.steps) return;
        for_cells(1, nothing, [&](int row, int column, int) {
            for (int k = steps; k < a_.ca.steps; ++k) {
                vector(k + 1)(row, column) = {0.0F, 0.0F};
                vector(first_scaled + k)(row, column) = {0.0F, 0.0F};
            }
        });
        __syncthreads();
    }

    /// x += Y x' on the tile and a pixel around it, because x needs one power less than p. z = Y z'
    /// and p = Y p' on the tile; the pixels that neighbours read are published. Ends with a
    /// barrier.
    __device__ void combine() const {
        const CaState& state = memory_.state;
        const Planes<float>& from = a_.ca.solution[state.current];
        const Planes<float>& to = a_.ca.solution[1 - state.current];
        float c[3 * vectors];
        APERTURE_UNROLL
        for (int i = 0; i < 3 * vectors; ++i) c[i] = memory_.coordinates[i];
        const auto load = [&](int y, int x) { return pair_at(from, y, x); };
        for_cells(1, load, [&](int row, int column, Pair x) {
            Pair z{0.0F, 0.0F};
            Pair p{0.0F, 0.0F};
            APERTURE_UNROLL
            for (int k = 0; k < vectors; ++k) {
                const Pair y = vector(k)(row, column);
                x = x + c[k] * y;
                z = z + c[vectors + k] * y;
                p = p + c[2 * vectors + k] * y;
            }
            put(vector(Layout::solution), row, column, x);
            if (!in_tile(row, column, 0)) return;
            put(vector(0), row, column, p);
            put(vector(first_scaled), row, column, z);
            store_pair(to, y0_ + row, x0_ + column, x);
            if (in_tile(row, column, -a_.layout.halo)) return;
            store_vector(a_.ca.basis, 0, y0_ + row, x0_ + column, p);
            store_vector(a_.ca.basis, 1, y0_ + row, x0_ + column, z);
        });
        __syncthreads();
    }

    /// Stores z = M^-1 (b - A x) and its sums.
    __device__ void store_residual() const {
        struct Pixel {
            SymmetricBlock tensor;
            SymmetricBlock inverse;
            Pair right;
        };
        const SystemPlanes& system = a_.ca.system;
        const bool precondition = a_.ca.precondition;
        const Planes<float>& scaled = a_.ca.scaled[1 - memory_.state.current];
        const auto load = [&](int y, int x) {
            Pixel pixel{block_at(system.tensor, y, x), {1.0F, 0.0F, 1.0F}, {}};
            if (precondition) pixel.inverse = block_at(system.inverse, y, x);
            pixel.right = pair_at(system.right, y, x);
            return pixel;
        };
        Sums<3> own{};
        for_cells(0, load, [&](int row, int column, const Pixel& pixel) {
            const int y = y0_ + row;
            const int x = x0_ + column;
            const Pair here = vector(Layout::solution)(row, column);
            const Pair sum = neighbours(vector(Layout::solution), row, column);
            const Pair r =
                pixel.right - (pixel.tensor * here + flux_of<coupling>(system, y, x, here, sum));
            const Pair z = pixel.inverse * r;
            store_pair(scaled, y, x, z);
            const Pair away = z - vector(first_scaled)(row, column);
            own = own + Sums<3>{{static_cast<double>(dot(r, r)), static_cast<double>(dot(z, z)),
                                 static_cast<double>(dot(away, away))}};
        });
        store_part(own, a_.residuals);
    }

    /// Evaluates the round. Ends with a barrier.
    __device__ void evaluate_residual() const {
        const Sums<3> sums = total_of(a_.residuals, static_cast<int>(gridDim.x));
        store_state(evaluate_round(memory_.state, {sums.value[0], sums.value[1], sums.value[2]},
                                   a_.ca.limits));
    }
    /// Stores the state, which every thread has, for the block. Ends with a barrier.
    __device__ void store_state(const CaState& state) const {
        __syncthreads();
        if (core::thread_rank() == 0) memory_.state = state;
        __syncthreads();
    }

    /// Copies the solution to the caller's planes, and the state to the entry that the host reads.
    __device__ void finish() const {
        const CaState& state = memory_.state;
        if (first_thread()) a_.ca.states[1] = state;
        if (state.current == 0) return;
        const auto load = [&](int y, int x) { return pair_at(a_.ca.solution[1], y, x); };
        for_cells(0, load, [&](int row, int column, Pair x) {
            store_pair(a_.ca.solution[0], y0_ + row, x0_ + column, x);
        });
    }

    __device__ __forceinline__ int image_rows() const { return rows_of(a_.ca.solution[0]); }
    __device__ __forceinline__ int image_columns() const { return columns_of(a_.ca.solution[0]); }
    /// Extents of the tile's part inside the image.
    __device__ __forceinline__ int rows() const { return min(a_.layout.rows, image_rows() - y0_); }
    __device__ __forceinline__ int columns() const {
        return min(a_.layout.columns, image_columns() - x0_);
    }
    static __device__ __forceinline__ int nothing(int, int) { return 0; }

    __device__ __forceinline__ TileVector vector(int k) const {
        constexpr int none = -0x10000;
        const int pitch = a_.layout.pitch[k];
        const int border = (pitch - a_.layout.columns) / 2;
        const auto first = [&](int i) { return i > -border ? i : none; };
        const auto last = [&](int i, int tile) { return i < tile + border - 1 ? i : none; };
        return {basis_ + a_.layout.origin[k],
                pitch,
                first(-y0_),
                last(image_rows() - 1 - y0_, a_.layout.rows),
                first(-x0_),
                last(image_columns() - 1 - x0_, a_.layout.columns)};
    }
    /// Whether a pixel lies in the tile widened by `border`.
    __device__ __forceinline__ bool in_tile(int row, int column, int border) const {
        return row >= -border && row < rows() + border && column >= -border &&
               column < columns() + border;
    }
    /// Calls visit(pointer) for the place of a pixel's value, and for its replicated places outside
    /// the image.
    template <class Visit>
    __device__ __forceinline__ void for_places(const TileVector& v, int row, int column,
                                               const Visit& visit) const {
        Pair* const place = &v(row, column);
        visit(place);
        // A zero boundary needs zeros there, and weighted couplings multiply by zero.
        if constexpr (boundary == Boundary::zero || coupling == Coupling::weighted) return;
        const int pitch = v.pitch;
        const bool above = row == v.top;
        const bool below = row == v.bottom;
        const bool left = column == v.left;
        const bool right = column == v.right;
        if (left) visit(place - 1);
        if (right) visit(place + 1);
        if (above) visit(place - pitch);
        if (below) visit(place + pitch);
        if constexpr (coupling == Coupling::nine) {
            if (above && left) visit(place - pitch - 1);
            if (above && right) visit(place - pitch + 1);
            if (below && left) visit(place + pitch - 1);
            if (below && right) visit(place + pitch + 1);
        }
    }
    __device__ __forceinline__ void put(const TileVector& v, int row, int column,
                                        Pair value) const {
        for_places(v, row, column, [&](Pair* place) { *place = value; });
    }

    /// a / b for counts of threads and pixels, which are small enough for an exact result.
    static __device__ __forceinline__ int quotient(int a, int b) {
        return static_cast<int>(__fdividef(static_cast<float>(a) + 0.5F, static_cast<float>(b)));
    }

    /// Calls visit(row, column, load(y, x)) for the image pixels of the tile and a border around
    /// it, a thread's pixels one after another. The next pixel's data is loaded before the current
    /// pixel is visited.
    template <class Load, class Visit>
    __device__ __forceinline__ void for_cells(int border, const Load& load,
                                              const Visit& visit) const {
        const int top = max(-border, -y0_);
        const int left = max(-border, -x0_);
        const int height = min(rows() + border, image_rows() - y0_) - top;
        const int width = min(columns() + border, image_columns() - x0_) - left;
        const int down = quotient(on_chip_threads, width);
        const int across = on_chip_threads - down * width;
        int i = quotient(core::thread_rank(), width);
        int j = core::thread_rank() - i * width;
        if (i >= height) return;
        auto next = load(y0_ + top + i, x0_ + left + j);
        for (bool more = true; more;) {
            const auto now = next;
            const int row = top + i;
            const int column = left + j;
            i += down;
            j += across;
            if (j >= width) {
                j -= width;
                ++i;
            }
            more = i < height;
            if (more) next = load(y0_ + top + i, x0_ + left + j);
            visit(row, column, now);
        }
    }

    /// S of a vector at a pixel, as defined by sum_around.
    __device__ __forceinline__ Pair neighbours(const TileVector& v, int row, int column) const {
        const Pair* const here = &v(row, column);
        const int pitch = v.pitch;
        return sum_around<coupling>(edge_weights<coupling>(a_.ca.system, y0_ + row, x0_ + column),
                                    [&](int dy, int dx) { return here[dy * pitch + dx]; });
    }

    /// scale B y - shift y at a pixel, where y is `now`. With M = D, B y is y - D^-1 S(y).
    __device__ __forceinline__ Pair scaled_product(float scale, float shift,
                                                   const SymmetricBlock& block, const TileVector& v,
                                                   int row, int column, Pair now) const {
        const SystemPlanes& system = a_.ca.system;
        const Pair sum = neighbours(v, row, column);
        if (a_.ca.precondition) {
            const float weight = coupling == Coupling::weighted ? 1.0F : system.smoothness;
            return (scale - shift) * now - (scale * weight) * (block * sum);
        }
        const Pair product =
            block * now + flux_of<coupling>(system, y0_ + row, x0_ + column, now, sum);
        return scale * product - shift * now;
    }

    /// M of pixel (y, x).
    __device__ __forceinline__ SymmetricBlock weight_at(int y, int x) const {
        if (!a_.ca.precondition) return {1.0F, 0.0F, 1.0F};
        SymmetricBlock m = block_at(a_.ca.system.tensor, y, x);
        const float d = degree<coupling>(a_.ca.system, y, x);
        m.a11 += d;
        m.a22 += d;
        return m;
    }

  private:
    const OnChipArguments<most>& a_;
    OnChipMemory<most>& memory_;
    Pair* basis_;
    int y0_;
    int x0_;
};

}  // namespace aperture::flow::gpu
