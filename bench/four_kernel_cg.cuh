// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Communication-avoiding CG with its basis in memory: four kernels for a round of s iterations
// (basis and Gram matrix, s iterations on coordinates, their linear combination, the true
// residual). For images too large for libflow's kernel, which keeps the basis on chip; slower than
// CG there (docs/notes/flow.md). Solution and residual are double buffered, so that a round with a
// dependent basis can be discarded.

#include "libflow/gpu/communication_avoiding_cg.cuh"
#include "libflow/gpu/free_flow.cuh"
#include "libflow/gpu/residual.cuh"

namespace aperture::bench {

using namespace flow;
using namespace flow::gpu;
using core::index_t;

inline constexpr int most_vectors = 2 * most_steps + 1;
inline constexpr int coordinate_threads = 512;

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
        : halo(a.steps), rows(a.system.tensor.rows), columns(a.system.tensor.columns) {
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
        if (from.data == a.basis.data + 2 * place * a.basis.stride) return;
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
    if (blockIdx.x == 0 && core::thread_rank() == 0) a.states[1] = state;
    if (state.stopped != 0) return;
    // The window reuses the memory of the totals.
    __syncthreads();
    float* const memory = core::shared<float>();
    double* const sums = core::shared<double>();
    const int vectors = 2 * state.steps + 1;
    const auto part_of_basis = [&](int k) {
        Planes<const float> part = constant(a.basis);
        part.data += 2 * k * part.stride;
        return part;
    };
    const Planes<const float> true_scaled = constant(a.scaled[state.current]);
    const Planes<const float> p = state.restart != 0 ? true_scaled : part_of_basis(0);
    const Planes<const float> z =
        state.replaced != 0 ? true_scaled : part_of_basis(state.steps + 1);
    constexpr int kept =
        (gram_entries * gram_squares(2 * Tile::steps + 1) + Tile::threads - 1) / Tile::threads;
    double gram[kept] = {};
    double norms[kept] = {};
    const int own_rows = Tile::rows - 2 * a.steps;
    const int own_columns = Tile::columns - 2 * a.steps;
    const int tiles = (a.system.tensor.rows + own_rows - 1) / own_rows *
                      ((a.system.tensor.columns + own_columns - 1) / own_columns);
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

/// Sums the Gram matrices of `vectors` vectors over the blocks' parts, a warp for an entry. All
/// threads of the block must call; the caller must add a barrier.
__device__ inline void take_gram(const RoundArguments& round, int vectors,
                                 CoordinateMemory<most_vectors>* memory) {
    const int entries = gram_entries * gram_squares(vectors);
    const int warps = core::block_threads() / core::warp_size;
    const auto take = [&](const double* gram, double* matrix) {
        for (int entry = core::warp_rank(); entry < entries; entry += warps) {
            int row = 0;
            int column = 0;
            locate_entry(entry / gram_entries, &row, &column);
            const int i = gram_square * row + entry % gram_entries / gram_square;
            const int j = gram_square * column + entry % gram_square;
            if (i > j || j >= vectors) continue;
            double sum = 0;
            for (int part = core::lane_rank(); part < round.parts; part += core::warp_size) {
                sum += gram[static_cast<index_t>(entry) * round.parts + part];
            }
            sum = core::warp_reduce(sum);
            if (core::lane_rank() == 0) {
                matrix[i * vectors + j] = sum;
                matrix[j * vectors + i] = sum;
            }
        }
    };
    take(round.ca.gram, memory->gram);
    if (round.ca.history == nullptr) return;
    take(round.ca.gram + static_cast<index_t>(entries) * round.parts, memory->norms);
}

/// Up to s iterations on the coordinates, by one block: its warps sum the Gram matrix, the first
/// one iterates. Shared memory: CoordinateMemory<most_vectors>.
template <int threads>
__global__ void __launch_bounds__(threads) ca_coordinates_kernel(RoundArguments round) {
    const CaArguments& a = round.ca;
    CaState& state = a.states[1];
    if (state.stopped != 0) return;
    auto* const memory = core::shared<CoordinateMemory<most_vectors>>();
    take_gram(round, 2 * state.steps + 1, memory);
    __syncthreads();
    if (core::warp_rank() != 0) return;
    const CoordinatePlanes planes{round.coordinates, a.history};
    const CoordinateSolver solver(a.recurrence, state, state.steps, planes, memory);
    const int taken = solver.iterate(min(state.steps, a.limits.iterations - state.done));
    if (core::lane_rank() == 0) state.taken = taken;
}

/// x += Y x', z = Y z', p = Y p'; z and p replace the first vectors of the basis. Threads visit
/// pixels by for_own_pixels. Moves 8 (2 s + 1) + 32 bytes a pixel, 12 (2 s + 1) flops.
template <int threads>
__global__ void __launch_bounds__(threads) ca_combine_kernel(RoundArguments round) {
    const CaArguments& a = round.ca;
    const CaState& state = a.states[1];
    if (state.stopped != 0) return;
    const int steps = state.steps;
    const Planes<float>& from = a.solution[state.current];
    const Planes<float>& to = a.solution[1 - state.current];
    const float* const c = round.coordinates;
    for_own_pixels(to.rows, to.columns, [&](int y, int x) {
        Pair sum_x = pair_at(from, y, x);
        Pair sum_z{0.0F, 0.0F};
        Pair sum_p{0.0F, 0.0F};
        for (int k = 0; k <= 2 * steps; ++k) {
            const Pair vector = vector_at(a.basis, k, y, x);
            sum_x = sum_x + c[k] * vector;
            sum_z = sum_z + c[most_vectors + k] * vector;
            sum_p = sum_p + c[2 * most_vectors + k] * vector;
        }
        store_pair(to, y, x, sum_x);
        store_vector(a.basis, 0, y, x, sum_p);
        store_vector(a.basis, steps + 1, y, x, sum_z);
    });
}

/// z = M^-1 (b - A x) of a round's result, and its sums. Threads visit pixels by for_own_pixels;
/// shared memory: reduction_shared. Moves 64 bytes a pixel.
template <Coupling coupling, Boundary boundary>
__global__ void ca_residual_kernel(CaArguments a) {
    const CaState& state = a.states[1];
    if (blockIdx.x == 0 && core::thread_rank() == 0) a.states[0] = state;
    if (state.stopped != 0) return;
    const int which = 1 - state.current;
    Sums<3> own{};
    for_own_pixels(a.system.tensor.rows, a.system.tensor.columns, [&](int y, int x) {
        const Pair r = residual_at<coupling, boundary>(
            a.system, y, x, [&](int i, int j) { return pair_at(a.solution[which], i, j); });
        const Pair z = a.precondition ? block_at(a.system.inverse, y, x) * r : r;
        store_pair(a.scaled[which], y, x, z);
        const Pair away = z - vector_at(a.basis, state.steps + 1, y, x);
        own = own + Sums<3>{{static_cast<double>(dot(r, r)), static_cast<double>(dot(z, z)),
                             static_cast<double>(dot(away, away))}};
    });
    store_part(own, a.residuals);
}

/// Evaluates the last round and copies the solution to the caller's planes. Threads visit pixels by
/// for_own_pixels; shared memory: reduction_shared. Moves 16 bytes a pixel, or none.
template <int threads>
__global__ void __launch_bounds__(threads) ca_finish_kernel(CaArguments a) {
    const CaState state = evaluate_round(a);
    if (state.current == 0) return;
    for_own_pixels(a.solution[0].rows, a.solution[0].columns, [&](int y, int x) {
        store_pair(a.solution[0], y, x, pair_at(a.solution[1], y, x));
    });
}

template <class Executor>
class FourKernelCg {
  public:
    using Space = typename Executor::Space;

    FourKernelCg(Executor& executor, Shape shape, const SolverParameters& parameters)
        : executor_(executor),
          shape_(shape),
          parameters_(parameters),
          prepared_(shape),
          free_flow_(executor, shape),
          residual_(executor, shape),
          common_(executor, shape, parameters, one_tile(shape)),
          basis_(2 * vectors(), shape),
          coordinates_({3 * most_vectors}) {
        with_tile([&](auto tile) {
            using Tile = decltype(tile);
            const auto windows = [&](index_t extent, int window) {
                const index_t own = window - 2 * parameters_.s_step;
                return (extent + own - 1) / own;
            };
            const index_t resident =
                most_resident_threads / Tile::threads * executor.multiprocessors();
            blocks_ = static_cast<unsigned>(std::min(
                windows(shape.rows, Tile::rows) * windows(shape.columns, Tile::columns), resident));
        });
        gram_ = core::Array<double, 1, Space>(
            {2 * gram_entries * gram_squares(vectors()) * static_cast<index_t>(blocks_)});
    }

    /// As SystemSolver::solve.
    SolveResult solve(const LinearSystem<Space>& system, FlowView<Space> flow,
                      std::vector<double>* residuals = nullptr) {
        const Planes<float> x = planes_of(flow);
        prepared_.take(executor_, system, true, free_flow_.wanted(system, constant(x)));
        const bool tested = residuals != nullptr || parameters_.tolerance > 0;
        double right = 1;
        if (tested) right = residual_.norms(executor_, prepared_, constant(x)).right;
        if (right == 0) right = 1;
        const double reached = parameters_.tolerance * right;
        common_.start(executor_, prepared_, x, parameters_.tolerance > 0 ? reached * reached : -1,
                      residuals != nullptr);
        round_.ca = common_.arguments();
        round_.ca.basis = basis_.planes();
        round_.ca.gram = gram_.data();
        round_.coordinates = coordinates_.data();
        round_.parts = static_cast<int>(blocks_);
        SolveResult result{parameters_.iterations, common_.products()};
        if (!tested && common_.is_sound()) {
            for (int i = 0; i < common_.rounds(); ++i) launch_round();
        } else {
            result = run_until_stopped();
        }
        core::launch(executor_, &ca_finish_kernel<reduction_threads>,
                     reduction_config(executor_, shape_), round_.ca);
        if (residuals != nullptr) common_.history(executor_, right, *residuals);
        free_flow_.restore(executor_, x);
        return result;
    }

  private:
    static constexpr int most_resident_threads = 1024;
    static constexpr int rounds_between_tests = 4;

    /// Nothing runs on chip.
    static OnChipPlan one_tile(Shape shape) {
        return {static_cast<int>(shape.rows), static_cast<int>(shape.columns)};
    }
    int vectors() const { return 2 * parameters_.s_step + 1; }

    /// Bytes for two vectors of a window, or for the partial sums of the Gram matrix.
    template <class Tile>
    std::size_t powers_shared() const {
        const auto entries = static_cast<std::size_t>(gram_entries * gram_squares(vectors()));
        return std::max(4 * sizeof(float) * Tile::pixels,
                        entries * (Tile::threads / core::warp_size) * sizeof(double));
    }

    template <class Function>
    void with_tile(const Function& function) const {
        parameters_.s_step <= FewSteps::steps ? function(FewSteps{}) : function(ManySteps{});
    }

    void launch_round() {
        const core::LaunchConfig config = reduction_config(executor_, shape_);
        with_stencil(prepared_.coupling(), prepared_.boundary(), [&](auto coupling, auto boundary) {
            constexpr Coupling c = decltype(coupling)::value;
            constexpr Boundary b = decltype(boundary)::value;
            with_tile([&](auto tile) {
                using Tile = decltype(tile);
                core::launch(
                    executor_, &ca_powers_kernel<c, b, Tile>,
                    core::LaunchConfig(dim3(blocks_), dim3(Tile::threads), powers_shared<Tile>()),
                    round_);
            });
            core::launch(executor_, &ca_coordinates_kernel<coordinate_threads>,
                         core::LaunchConfig(dim3(1), dim3(coordinate_threads),
                                            sizeof(CoordinateMemory<most_vectors>)),
                         round_);
            core::launch(executor_, &ca_combine_kernel<reduction_threads>, config, round_);
            core::launch(executor_, &ca_residual_kernel<c, b>, config, round_.ca);
        });
    }

    SolveResult run_until_stopped() {
        SolverProgress progress;
        while (!progress.stopped) {
            for (int i = 0; i < rounds_between_tests; ++i) launch_round();
            progress = common_.progress(executor_);
        }
        return {progress.done, static_cast<double>(progress.products)};
    }

    Executor& executor_;
    Shape shape_;
    SolverParameters parameters_;
    PreparedSystem<Executor> prepared_;
    FreeFlow<Executor> free_flow_;
    Residual<Executor> residual_;
    CommunicationAvoidingCg<Executor> common_;  ///< what both forms start with
    RoundArguments round_{};
    unsigned blocks_ = 0;
    PlaneArray<Space> basis_;
    core::Array<double, 1, Space> gram_;
    core::Array<float, 1, Space> coordinates_;
};

}  // namespace aperture::bench
