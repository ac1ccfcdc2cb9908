// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Communication-avoiding CG with its basis in memory: four kernels for a round of s iterations
// (basis and Gram matrix, s iterations on coordinates, their linear combination, the true
// residual). For images too large for libflow's kernel, which keeps the basis on chip; slower than
// CG there (docs/notes/flow.md). Solution and residual are double buffered, so that a round with a
// dependent basis can be discarded.

#include "bench/matrix_powers.cuh"
#include "libflow/gpu/communication_avoiding_cg.cuh"
#include "libflow/gpu/free_flow.cuh"
#include "libflow/gpu/residual.cuh"

namespace aperture::bench {

inline constexpr int coordinate_threads = 512;

/// Sums the Gram matrices of `vectors` vectors over the blocks' parts, a warp for an entry. All
/// threads of the block must call; the caller must add a barrier.
__device__ inline void sum_gram(const RoundArguments& round, int vectors,
                                CoordinateMemory<most_vectors>* memory) {
    const int entries = gram_entries * gram_squares(vectors);
    const int warps = core::block_threads() / core::warp_size;
    const auto sum_parts = [&](const double* gram, double* matrix) {
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
    sum_parts(round.ca.gram, memory->gram);
    if (round.ca.history == nullptr) return;
    sum_parts(round.ca.gram + static_cast<index_t>(entries) * round.parts, memory->norms);
}

/// Up to s iterations on the coordinates, by one block: its warps sum the Gram matrix, the first
/// one iterates. Shared memory: CoordinateMemory<most_vectors>.
template <int threads>
__global__ void __launch_bounds__(threads) ca_coordinates_kernel(RoundArguments round) {
    const CaArguments& a = round.ca;
    CaState& state = a.states[1];
    if (state.stopped != 0) return;
    auto* const memory = core::shared<CoordinateMemory<most_vectors>>();
    sum_gram(round, 2 * state.steps + 1, memory);
    __syncthreads();
    if (core::warp_rank() != 0) return;
    const CoordinatePlanes planes{round.coordinates, a.history};
    const CoordinateSolver solver(a.recurrence, state, state.steps, planes, memory);
    const int iterated = solver.iterate(min(state.steps, a.limits.iterations - state.done));
    if (core::lane_rank() == 0) state.iterated = iterated;
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
    for_own_pixels(rows_of(to), columns_of(to), [&](int y, int x) {
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
    if (first_thread()) a.states[0] = state;
    if (state.stopped != 0) return;
    const int which = 1 - state.current;
    Sums<3> own{};
    for_own_pixels(rows_of(a.system.tensor), columns_of(a.system.tensor), [&](int y, int x) {
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
    for_own_pixels(rows_of(a.solution[0]), columns_of(a.solution[0]), [&](int y, int x) {
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
        prepared_.load(executor_, system, true, free_flow_.start_sums(system, x));
        const bool tested = residuals != nullptr || parameters_.tolerance > 0;
        double right = 1;
        if (tested) right = residual_.norms(executor_, prepared_, x).right;
        if (right == 0) right = 1;
        const double reached = parameters_.tolerance * right;
        common_.start(prepared_, x, parameters_.tolerance > 0 ? reached * reached : -1,
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
        if (residuals != nullptr) common_.append_history(right, *residuals);
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
            progress = common_.progress();
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
