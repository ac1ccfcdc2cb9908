// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Multigrid on 2x2 cells (Trottenberg, Oosterlee & Schueller 2001, sections 2.6 and 2.8): the same
// cycles as libflow/cpu/multigrid.hpp.

#include <vector>

#include "libflow/gpu/multigrid_tail.cuh"

namespace aperture::flow::gpu {

/// A block's window of pixels, halo included; both extents are even.
template <int rows_, int columns_, int threads_>
struct RelaxTile {
    static constexpr int rows = rows_;
    static constexpr int columns = columns_;
    static constexpr int threads = threads_;
};
/// The larger one repeats less work in its halo; the smaller one gives every multiprocessor a tile.
using LargeTile = RelaxTile<64, 64, 512>;
using SmallTile = RelaxTile<32, 32, 256>;

struct RelaxArguments {
    LevelPlanes system;
    Planes<const float> from;    ///< initial unknowns; null: zero
    Planes<const float> coarse;  ///< unknowns of the coarser level to add; null: none
    float share;                 ///< of them
    Planes<float> to;            ///< the relaxed unknowns; must not overlap `from`
    Planes<float> coarse_right;  ///< average of the residual; null: not computed
    int sweeps;

    /// Halo width in pixels: one for each colour's turn, and one for the residual's neighbours.
    APERTURE_HD int halo(int colours) const {
        return colours * sweeps + (coarse_right.data != nullptr ? 1 : 0);
    }
};

/// Both unknowns of a window in shared memory. Even and odd columns are stored apart, so that the
/// pixels of one colour, and each of their neighbours, have no bank conflicts.
template <class Tile>
struct Window {
    float* memory;
    int y0;
    int x0;

    __device__ __forceinline__ int offset(int y, int x) const {
        const int column = x - x0;
        return (y - y0) * Tile::columns + (column & 1) * (Tile::columns / 2) + column / 2;
    }
    __device__ __forceinline__ Pair operator()(int y, int x) const {
        const int at = offset(y, x);
        return {memory[at], memory[Tile::rows * Tile::columns + at]};
    }
    __device__ __forceinline__ void set(int y, int x, Pair value) const {
        const int at = offset(y, x);
        memory[at] = value.u;
        memory[Tile::rows * Tile::columns + at] = value.v;
    }
};

/// Prolongs, relaxes and restricts the residual, each on request, on tiles of Tile less its halo on
/// every side. Every pixel of the window with valid neighbours in its turn is relaxed: a block
/// recomputes what it needs of neighbouring tiles. A thread relaxes pixels of a colour,
/// Tile::threads apart. Shared memory: u and v of the window. Moves 36 bytes a pixel, 28 of them
/// times the ratio of the window to its tile; 90 flops a pixel and sweep, of which 50 invert the
/// block again: that is cheaper than loading its inverse.
template <Coupling coupling, Boundary boundary, class Tile>
__global__ void __launch_bounds__(Tile::threads) relax_kernel(RelaxArguments arguments) {
    const LevelPlanes& system = arguments.system;
    const int rows = rows_of(system.tensor);
    const int columns = columns_of(system.tensor);
    const int halo = arguments.halo(colours_of(coupling));
    const int own_rows = Tile::rows - 2 * halo;
    const int own_columns = Tile::columns - 2 * halo;
    const Window<Tile> window{core::shared<float>(), static_cast<int>(blockIdx.y) * own_rows - halo,
                              static_cast<int>(blockIdx.x) * own_columns - halo};
    const auto inside = [&](int y, int x) { return y >= 0 && y < rows && x >= 0 && x < columns; };
    for (int i = core::thread_rank(); i < Tile::rows * Tile::columns; i += Tile::threads) {
        const int y = window.y0 + i / Tile::columns;
        const int x = window.x0 + i % Tile::columns;
        if (!inside(y, x)) continue;
        Pair value{0.0F, 0.0F};
        if (arguments.from.data != nullptr) value = pair_at(arguments.from, y, x);
        if (arguments.coarse.data != nullptr) {
            const Planes<const float>& coarse = arguments.coarse;
            const Pair correction =
                prolonged<boundary>(rows_of(coarse), columns_of(coarse), y, x,
                                    [&](int j, int k) { return pair_at(coarse, j, k); });
            value = value + arguments.share * correction;
        }
        window.set(y, x, value);
    }
    __syncthreads();
    for (int step = 0; step < colours_of(coupling) * arguments.sweeps; ++step) {
        const int margin = step + 1;
        const int pixels = coloured_pixels<coupling>(Tile::rows, Tile::columns);
        for (int i = core::thread_rank(); i < pixels; i += Tile::threads) {
            const auto [row, column] = coloured_pixel<coupling>(
                i, step % colours_of(coupling), window.y0, window.x0, Tile::columns);
            const bool valid = row >= margin && row < Tile::rows - margin && column >= margin &&
                               column < Tile::columns - margin;
            const int y = window.y0 + row;
            const int x = window.x0 + column;
            if (!valid || !inside(y, x)) continue;
            window.set(
                y, x,
                relaxed<coupling, boundary>(
                    system, relaxation_block<coupling, boundary>(system, y, x), y, x, window));
        }
        __syncthreads();
    }
    for (int i = core::thread_rank(); i < own_rows * own_columns; i += Tile::threads) {
        const int y = window.y0 + halo + i / own_columns;
        const int x = window.x0 + halo + i % own_columns;
        if (inside(y, x)) store_pair(arguments.to, y, x, window(y, x));
    }
    if (arguments.coarse_right.data == nullptr) return;
    for (int i = core::thread_rank(); i < own_rows * own_columns / 4; i += Tile::threads) {
        const int y = (window.y0 + halo) / 2 + i / (own_columns / 2);
        const int x = (window.x0 + halo) / 2 + i % (own_columns / 2);
        if (y >= rows_of(arguments.coarse_right) || x >= columns_of(arguments.coarse_right))
            continue;
        store_pair(arguments.coarse_right, y, x,
                   average(rows, columns, y, x, [&](int row, int column) {
                       return level_residual<coupling, boundary>(system, row, column, window);
                   }));
    }
}

/// Computes the system of a level, `tensor`, `right` and `weights`, from the next finer one: the
/// averages of tensor and residual. The residual of zero `unknowns`, null, is the right-hand side.
/// A thread for a coarse pixel, pixel_config. Moves 33 bytes a fine pixel, 13 less if its unknowns
/// are zero.
template <Coupling coupling, Boundary boundary>
__global__ void coarsen_kernel(LevelPlanes fine, Planes<const float> unknowns, Planes<float> tensor,
                               Planes<float> right, Planes<float> weights) {
    const int rows = rows_of(fine.tensor);
    const int columns = columns_of(fine.tensor);
    const auto field = [&](int row, int column) { return pair_at(unknowns, row, column); };
    for_one_pixel(rows_of(tensor), columns_of(tensor), [&](int y, int x) {
        APERTURE_UNROLL
        for (int i = 0; i < 3; ++i) {
            tensor(i, y, x) = average(rows, columns, y, x, [&](int row, int column) {
                return fine.tensor(i, row, column);
            });
        }
        if constexpr (coupling == Coupling::weighted) {
            store_pair(weights, y, x, coarse_weights(fine.weights, y, x));
        }
        store_pair(right, y, x, average(rows, columns, y, x, [&](int row, int column) {
                       return unknowns.data == nullptr
                                  ? pair_at(fine.right, row, column)
                                  : level_residual<coupling, boundary>(fine, row, column, field);
                   }));
    });
}

template <class Executor>
class Multigrid {
  public:
    using Space = typename Executor::Space;

    Multigrid() = default;
    Multigrid(Executor& executor, Shape shape) : executor_(&executor) {
        levels_.push_back({shape, {}, {}, {}, {}, {PlaneArray<Space>(2, shape), {}}});
        while (!fits_in_a_block(executor, levels_.back().shape)) {
            const BorderWeights border = levels_.back().border.coarser(shape.rows, shape.columns);
            shape = halved(shape);
            levels_.push_back({shape,
                               border,
                               PlaneArray<Space>(3, shape),
                               PlaneArray<Space>(2, shape),
                               {},
                               {PlaneArray<Space>(2, shape), PlaneArray<Space>(2, shape)}});
        }
    }

    /// Starts from `x`, in place. The caller keeps ownership of the planes.
    void start(const PreparedSystem<Executor>& system, const Planes<float>& x) {
        coupling_ = system.coupling();
        boundary_ = system.boundary();
        finest_ = system.planes();
        x_ = x;
        work_units_ = 0;
        cycles_ = 0;
        if (coupling_ != Coupling::weighted) return;
        for (std::size_t l = 1; l < levels_.size(); ++l) {
            Level& level = levels_[l];
            if (level.weights.shape() != level.shape) {
                level.weights = PlaneArray<Space>(2, level.shape);
            }
        }
    }

    /// Corrects from the coarsest level to the finest, with a V-cycle on each: the first iteration.
    void full_cycle() {
        for (std::size_t l = 0; l < tail(); ++l) coarsen(l);
        run_tail(true, 1);
        for (std::size_t l = tail(); l-- > 0;) cycle(l, true, 1);
    }
    void v_cycle() { cycle(0, false, correction_share(++cycles_)); }

    /// Sweeps and products so far; coarser levels count by their share of pixels.
    double work_units() const { return work_units_; }

  private:
    struct Level {
        Shape shape;
        BorderWeights border;
        PlaneArray<Space> tensor;  // the caller's on the finest level, as are the next two
        PlaneArray<Space> right;
        PlaneArray<Space> weights;
        PlaneArray<Space> unknowns[2];  // double buffered: windows overlap
    };

    /// Shapes of `shape` and all coarser levels.
    template <class Visit>
    static void for_shapes(Shape shape, const Visit& visit) {
        visit(shape);
        while (!is_coarsest(shape)) {
            shape = halved(shape);
            visit(shape);
        }
    }
    static index_t tail_bytes(Shape shape) {
        index_t pixels = 0;
        for_shapes(shape, [&](Shape s) { pixels += s.rows * s.columns; });
        return pixels * tail_planes<Coupling::weighted>() * index_t{sizeof(float)};
    }
    static bool fits_in_a_block(const Executor& executor, Shape shape) {
        return shape.rows * shape.columns <= most_tail_pixels &&
               tail_bytes(shape) <= executor.shared_memory_per_block();
    }

    /// The first level of those that one block handles alone.
    std::size_t tail() const { return levels_.size() - 1; }

    LevelPlanes system(std::size_t l) const {
        if (l == 0) return {finest_, {}};
        const Level& level = levels_[l];
        LevelPlanes planes;
        planes.border = level.border;
        planes.tensor = level.tensor.planes();
        planes.right = level.right.planes();
        if (coupling_ == Coupling::weighted) planes.weights = level.weights.planes();
        planes.smoothness = finest_.smoothness / static_cast<float>(index_t{1} << (2 * l));
        return planes;
    }
    /// Each level's unknowns have two buffers. The finest level's are in the caller's planes after
    /// each cycle.
    Planes<float> unknowns(std::size_t l, int which) {
        if (l == 0 && which == 0) return x_;
        return levels_[l].unknowns[l == 0 ? 0 : which].planes();
    }

    /// A V-cycle from level l, which adds `share` of its correction.
    void cycle(std::size_t l, bool from_coarse, float share) {
        for (std::size_t k = l; k < tail(); ++k) descend(k, k == l, from_coarse);
        run_tail(false, tail() == l ? share : 1.0F);
        for (std::size_t k = tail(); k-- > l;) ascend(k, k == l ? share : 1.0F);
    }

    /// Two sweeps on level l, then the right-hand side of level l + 1. The start is the caller's
    /// unknowns on level 0 and zero elsewhere, plus the correction by level l + 1 on the top level
    /// of a full cycle.
    void descend(std::size_t l, bool top, bool from_coarse) {
        RelaxArguments arguments{};
        if (l == 0) arguments.from = unknowns(0, 0);
        if (top && from_coarse) arguments.coarse = unknowns(l + 1, 0);
        arguments.share = 1;
        arguments.to = unknowns(l, 1);
        arguments.coarse_right = levels_[l + 1].right.planes();
        relax(l, arguments);
        add_work(smoothing_sweeps + 1, levels_[l].shape);
    }
    void ascend(std::size_t l, float share) {
        RelaxArguments arguments{};
        arguments.from = unknowns(l, 1);
        arguments.coarse = unknowns(l + 1, 0);
        arguments.share = share;
        arguments.to = unknowns(l, 0);
        relax(l, arguments);
        add_work(smoothing_sweeps, levels_[l].shape);
    }

    void relax(std::size_t l, RelaxArguments& arguments) {
        arguments.system = system(l);
        arguments.sweeps = smoothing_sweeps;
        const auto blocks = [](index_t extent, int own) {
            return static_cast<unsigned>((extent + own - 1) / own);
        };
        with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
            constexpr Coupling c = decltype(coupling)::value;
            constexpr Boundary b = decltype(boundary)::value;
            const int twice = 2 * arguments.halo(colours_of(c));
            const auto launch = [&](auto tile) {
                using Tile = decltype(tile);
                const dim3 grid(blocks(levels_[l].shape.columns, Tile::columns - twice),
                                blocks(levels_[l].shape.rows, Tile::rows - twice));
                core::launch(*executor_, &relax_kernel<c, b, Tile>,
                             core::LaunchConfig(grid, Tile::threads,
                                                2 * sizeof(float) * Tile::rows * Tile::columns),
                             arguments);
            };
            const index_t large =
                index_t{blocks(levels_[l].shape.columns, LargeTile::columns - twice)} *
                blocks(levels_[l].shape.rows, LargeTile::rows - twice);
            large >= executor_->multiprocessors() ? launch(LargeTile{}) : launch(SmallTile{});
        });
    }

    /// Computes the system of level l + 1 from that of level l and, on the finest, its unknowns.
    void coarsen(std::size_t l) {
        Level& coarse = levels_[l + 1];
        if (l == 0) add_work(1, levels_[0].shape);
        with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
            core::launch(*executor_,
                         &coarsen_kernel<decltype(coupling)::value, decltype(boundary)::value>,
                         pixel_config(coarse.shape), system(l),
                         l == 0 ? Planes<const float>(x_) : Planes<const float>{},
                         coarse.tensor.planes(), coarse.right.planes(), coarse.weights.planes());
        });
    }

    void run_tail(bool full, float share) {
        const Shape shape = levels_[tail()].shape;
        TailArguments arguments{system(tail()),
                                {},
                                unknowns(tail(), 0),
                                0,
                                full,
                                share,
                                hidden_tensor * finest_.smoothness};
        if (tail() == 0) arguments.from = x_;
        index_t pixels = 0;
        for_shapes(shape, [&](Shape s) {
            pixels += s.rows * s.columns;
            ++arguments.levels;
            // A full cycle has a V-cycle from each level.
            add_work(
                (full ? arguments.levels : 1) * (is_coarsest(s) ? 1 : 2 * smoothing_sweeps + 1), s);
        });
        // The residual of zero needs no product.
        if (full && tail() == 0 && arguments.levels > 1) add_work(1, shape);
        // A lane for each pixel of a colour.
        const index_t warps = (shape.rows * shape.columns / 2 + 31) / core::warp_size;
        const auto threads = static_cast<unsigned>(
            std::clamp<index_t>(warps * core::warp_size, core::warp_size, most_tail_threads));
        with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
            constexpr Coupling c = decltype(coupling)::value;
            const auto bytes = static_cast<std::size_t>(pixels * tail_planes<c>()) * sizeof(float);
            core::launch(*executor_, &multigrid_tail_kernel<c, decltype(boundary)::value>,
                         core::LaunchConfig(dim3(1), dim3(threads), bytes), arguments);
        });
    }

    void add_work(int sweeps, Shape of) {
        const auto pixels = [](Shape s) { return static_cast<double>(s.rows * s.columns); };
        work_units_ += sweeps * pixels(of) / pixels(levels_.front().shape);
    }

    Executor* executor_ = nullptr;
    std::vector<Level> levels_;  // the last one represents all coarser ones, too
    Coupling coupling_ = Coupling::five;
    Boundary boundary_ = Boundary::replicate;
    SystemPlanes finest_;
    Planes<float> x_;
    double work_units_ = 0;
    int cycles_ = 0;  // V-cycles after the full one
};

}  // namespace aperture::flow::gpu
