// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conjugate gradients, s iterations at a time (Carson 2015, algorithm 7; Hoemmen 2010), as in
// libflow/cpu/communication_avoiding_cg.hpp: basis and Gram matrix, s iterations on coordinates,
// their linear combination, the true residual. Solution and residual are double buffered, so that a
// round with a dependent basis can be discarded.

#include "libflow/gpu/ca_on_chip.cuh"

#if !defined(__CUDACC_RTC__)
#include "libflow/cpu/polynomial_basis.hpp"
#include "libflow/solver_progress.hpp"
#endif

namespace aperture::flow::gpu {

/// One of the powers of A on the residual, scaled by the growth so far. Threads visit pixels by
/// for_own_pixels; shared memory: reduction_shared. Moves 28 bytes a pixel.
template <Coupling coupling, Boundary boundary>
__global__ void ca_eigenvalue_kernel(CaArguments a, int power) {
    const double largest = largest_so_far(a, power);
    if (blockIdx.x == 0 && core::thread_rank() == 0) a.eigenvalues[power] = largest;
    const auto scale = static_cast<float>(1 / largest);
    const auto field = [&](int y, int x) {
        return scale * (power == 0 ? pair_at(a.scaled[0], y, x)
                                   : vector_at(a.powers.basis, power % 2, y, x));
    };
    Sums<2> own{};
    for_own_pixels(a.scaled[0].rows, a.scaled[0].columns, [&](int y, int x) {
        const Pair from = field(y, x);
        const Pair to = multiply<coupling, boundary>(a.powers.system, y, x, from, field);
        store_vector(a.powers.basis, (power + 1) % 2, y, x, to);
        own =
            own + Sums<2>{{static_cast<double>(dot(from, from)), static_cast<double>(dot(to, to))}};
    });
    store_part(own, a.growth[power % 2]);
}

/// z = M^-1 (b - A x) and its sums, for the start (`first`) or the result of a round. Threads visit
/// pixels by for_own_pixels; shared memory: reduction_shared. Moves 56 bytes a pixel.
template <Coupling coupling, Boundary boundary>
__global__ void ca_residual_kernel(CaArguments a, bool first) {
    if (first) {
        if (blockIdx.x == 0 && core::thread_rank() == 0) {
            CaState state{};
            state.steps = a.steps;
            state.products = a.powers.precondition ? 1 : 1 + eigenvalue_powers;
            a.states[0] = state;
        }
    } else {
        if (blockIdx.x == 0 && core::thread_rank() == 0) a.states[0] = a.states[1];
        if (a.states[1].stopped != 0) return;
    }
    const int which = first ? 0 : 1 - a.states[1].current;
    const int recurred = first ? 0 : a.states[1].steps + 1;
    const SystemPlanes& system = a.powers.system;
    Sums<3> own{};
    for_own_pixels(system.tensor.rows, system.tensor.columns, [&](int y, int x) {
        const Pair r = residual_at<coupling, boundary>(
            system, y, x, [&](int i, int j) { return pair_at(a.solution[which], i, j); });
        const Pair z = a.powers.precondition ? block_at(system.inverse, y, x) * r : r;
        store_pair(a.scaled[which], y, x, z);
        Pair away{0.0F, 0.0F};
        if (!first) away = z - vector_at(a.powers.basis, recurred, y, x);
        own = own + Sums<3>{{static_cast<double>(dot(r, r)), static_cast<double>(dot(z, z)),
                             static_cast<double>(dot(away, away))}};
    });
    store_part(own, a.residuals);
}

/// Evaluates the previous round. Then computes the basis and the block's part of its Gram matrix,
/// and of Y^T M^2 Y if a history is kept. Block: windows of Tile, gridDim apart, less `halo` on
/// every side; a thread has Tile::items pixels. Shared memory: two vectors of the window, later a
/// double for each entry of the Gram matrix and warp. Per pixel: 40 bytes read, times the ratio of
/// the window to its own pixels; 8 (2 s - 1) bytes written, which the Gram matrix reads from the
/// cache; 2 (2 s - 1) products with A, 16 flops each.
template <Coupling coupling, Boundary boundary, class Tile>
__global__ void __launch_bounds__(Tile::threads) ca_powers_kernel(CaArguments a) {
    const CaState state = evaluate_round(a);
    if (blockIdx.x == 0 && core::thread_rank() == 0) a.states[1] = state;
    if (state.stopped != 0) return;
    // The window reuses the memory of the totals.
    __syncthreads();
    float* const memory = core::shared<float>();
    double* const sums = core::shared<double>();
    const PowersArguments& powers = a.powers;
    const int vectors = 2 * state.steps + 1;
    const auto part_of_basis = [&](int k) {
        Planes<const float> part = constant(powers.basis);
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
    const int own_rows = Tile::rows - 2 * powers.halo;
    const int own_columns = Tile::columns - 2 * powers.halo;
    const int tiles = (powers.system.tensor.rows + own_rows - 1) / own_rows *
                      ((powers.system.tensor.columns + own_columns - 1) / own_columns);
    for (int tile = static_cast<int>(blockIdx.x); tile < tiles;
         tile += static_cast<int>(gridDim.x)) {
        const PowersWindow<Tile> window(powers, tile);
        build_basis<coupling, boundary>(powers, window, state.steps,
                                        static_cast<float>(state.largest), p, z, memory);
        add_gram<coupling>(powers, window, vectors, false, sums, gram);
        if (a.coordinates.history != nullptr) {
            add_gram<coupling>(powers, window, vectors, true, sums, norms);
        }
    }
    const int entries = gram_entries * gram_squares(vectors);
    APERTURE_UNROLL
    for (int k = 0; k < kept; ++k) {
        const int entry = core::thread_rank() + k * Tile::threads;
        if (entry >= entries) continue;
        a.gram[entry * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)] = gram[k];
        if (a.coordinates.history == nullptr) continue;
        a.gram[(entries + entry) * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)] =
            norms[k];
    }
}

/// Up to s iterations on the coordinates, by one block: its warps sum the Gram matrix, the first
/// one iterates. Shared memory: CoordinateMemory<most_vectors>.
template <int threads>
__global__ void __launch_bounds__(threads) ca_coordinates_kernel(CaArguments a) {
    CaState& state = a.states[1];
    if (state.stopped != 0) return;
    const CoordinateSolver solver(a.powers.recurrence, state, state.steps, a.coordinates,
                                  core::shared<CoordinateMemory<most_vectors>>());
    solver.take_gram(a.gram, a.gram_parts);
    __syncthreads();
    if (core::warp_rank() != 0) return;
    const int most = min(state.steps, a.limits.iterations - state.done);
    const int taken = solver.iterate(most);
    if (core::lane_rank() == 0) state.taken = taken;
}

/// x += Y x', z = Y z', p = Y p'; z and p replace the first vectors of the basis. Threads visit
/// pixels by for_own_pixels. Moves 8 (2 s + 1) + 32 bytes a pixel, 12 (2 s + 1) flops.
template <int threads>
__global__ void __launch_bounds__(threads) ca_combine_kernel(CaArguments a) {
    const CaState& state = a.states[1];
    if (state.stopped != 0) return;
    const int steps = state.steps;
    const Planes<float>& from = a.solution[state.current];
    const Planes<float>& to = a.solution[1 - state.current];
    const float* const c = a.coordinates.values;
    for_own_pixels(to.rows, to.columns, [&](int y, int x) {
        Pair sum_x = pair_at(from, y, x);
        Pair sum_z{0.0F, 0.0F};
        Pair sum_p{0.0F, 0.0F};
        for (int k = 0; k <= 2 * steps; ++k) {
            const Pair vector = vector_at(a.powers.basis, k, y, x);
            sum_x = sum_x + c[k] * vector;
            sum_z = sum_z + c[most_vectors + k] * vector;
            sum_p = sum_p + c[2 * most_vectors + k] * vector;
        }
        store_pair(to, y, x, sum_x);
        store_vector(a.powers.basis, 0, y, x, sum_p);
        store_vector(a.powers.basis, steps + 1, y, x, sum_z);
    });
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

#if !defined(__CUDACC_RTC__)

template <class Executor>
class CommunicationAvoidingCg {
  public:
    using Space = typename Executor::Space;

    CommunicationAvoidingCg() = default;
    /// On chip if a plan fits and Implementation::staged is not requested.
    CommunicationAvoidingCg(const Executor& executor, Shape shape,
                            const SolverParameters& parameters)
        : CommunicationAvoidingCg(
              executor, shape, parameters,
              parameters.implementation == Implementation::staged
                  ? OnChipPlan{}
                  : plan_on_chip(shape, parameters.s_step, executor.multiprocessors(),
                                 static_cast<std::size_t>(executor.shared_memory_per_block()))) {}
    CommunicationAvoidingCg(const Executor& executor, Shape shape,
                            const SolverParameters& parameters, const OnChipPlan& plan)
        : shape_(shape),
          parameters_(parameters),
          plan_(plan),
          basis_(plan.fits() ? 4 : 2 * vectors(), shape),
          solution_(2, shape),
          scaled_{PlaneArray<Space>(2, shape), PlaneArray<Space>(2, shape)},
          residuals_(executor, shape),
          growth_{Parts<2, Space>(executor, shape), Parts<2, Space>(executor, shape)},
          eigenvalues_({eigenvalue_powers}),
          coordinates_({3 * most_vectors}),
          states_({2}),
          states_on_host_({2}) {
        const Recurrence unit = basis_recurrence(parameters.basis, parameters.s_step, 1);
        for (std::size_t k = 0; k < unit.shift.size(); ++k) {
            recurrence_.shift[k] = static_cast<float>(unit.shift[k]);
            recurrence_.back[k] = static_cast<float>(unit.back[k]);
            recurrence_.scale[k] = static_cast<float>(unit.scale[k]);
        }
        if (plan.fits()) {
            with_most_steps(parameters.s_step, [&](auto most) {
                constexpr int on_chip = BasisLayout<decltype(most)::value>::vectors;
                gram_ =
                    core::Array<double, 1, Space>({on_chip * (on_chip + 1) * plan.tiles(shape)});
            });
            tile_residuals_ = core::Array<Sums<3>, 1, Space>({plan.tiles(shape)});
            return;
        }
        with_tile([&](auto tile) {
            using Tile = decltype(tile);
            const auto windows = [&](index_t extent, int window) {
                const index_t own = window - 2 * parameters_.s_step;
                return (extent + own - 1) / own;
            };
            const index_t resident =
                most_resident_threads / Tile::threads * executor.multiprocessors();
            powers_blocks_ = static_cast<unsigned>(std::min(
                windows(shape.rows, Tile::rows) * windows(shape.columns, Tile::columns), resident));
        });
        gram_ = core::Array<double, 1, Space>(
            {2 * gram_entries * gram_squares(vectors()) * static_cast<index_t>(powers_blocks_)});
    }

    /// Starts from `x`, in place, to continue until |b - A x|^2 <= limit. Keeps |r|^2 of every
    /// iteration if `with_history`. The caller keeps ownership of the planes.
    void start(Executor& executor, const PreparedSystem<Executor>& system, const Planes<float>& x,
               double limit, bool with_history) {
        coupling_ = system.coupling();
        boundary_ = system.boundary();
        if (with_history && history_.size() == 0) {
            history_ = core::Array<double, 1, Space>({std::max(parameters_.iterations, 1)});
            history_on_host_ = core::Array<double, 1>(history_.extent());
        }
        arguments_.powers = {system.planes(), basis_.planes(), recurrence_, parameters_.s_step,
                             parameters_.precondition};
        arguments_.solution[0] = x;
        arguments_.solution[1] = solution_.planes();
        for (int i : {0, 1}) arguments_.scaled[i] = scaled_[i].planes();
        arguments_.residuals = residuals_.data();
        for (int i : {0, 1}) arguments_.growth[i] = growth_[i].data();
        arguments_.eigenvalues = eigenvalues_.data();
        arguments_.parts = residuals_.blocks();
        arguments_.gram = gram_.data();
        arguments_.coordinates = {coordinates_.data(), with_history ? history_.data() : nullptr};
        arguments_.states = states_.data();
        arguments_.limits = {limit, parameters_.iterations};
        arguments_.steps = parameters_.s_step;
        arguments_.gram_parts = static_cast<int>(powers_blocks_);
        launch_residual(executor, true);
        if (parameters_.precondition) return;
        with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
            for (int power = 0; power < eigenvalue_powers; ++power) {
                core::launch(
                    executor,
                    &ca_eigenvalue_kernel<decltype(coupling)::value, decltype(boundary)::value>,
                    reduction_config(executor, shape_), arguments_, power);
            }
        });
    }

    /// Rounds of s iterations in a solution without repeated rounds.
    int rounds() const {
        return (parameters_.iterations + parameters_.s_step - 1) / parameters_.s_step;
    }
    /// Products with A in these rounds.
    double products() const {
        const int first = parameters_.precondition ? 1 : 1 + eigenvalue_powers;
        return first + 2.0 * parameters_.s_step * rounds();
    }

    /// Runs `rounds` rounds; on chip, all of them.
    void advance(Executor& executor, int rounds) {
        if (plan_.fits()) {
            solve_on_chip(executor, coupling_, boundary_, arguments_, plan_,
                          tile_residuals_.data());
            return;
        }
        for (int i = 0; i < rounds; ++i) {
            with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
                with_tile([&](auto tile) {
                    using Tile = decltype(tile);
                    core::launch(executor,
                                 &ca_powers_kernel<decltype(coupling)::value,
                                                   decltype(boundary)::value, Tile>,
                                 core::LaunchConfig(dim3(powers_blocks_), dim3(Tile::threads),
                                                    powers_shared<Tile>()),
                                 arguments_);
                });
            });
            core::launch(executor, &ca_coordinates_kernel<coordinate_threads>,
                         core::LaunchConfig(dim3(1), dim3(coordinate_threads),
                                            sizeof(CoordinateMemory<most_vectors>)),
                         arguments_);
            core::launch(executor, &ca_combine_kernel<reduction_threads>,
                         reduction_config(executor, shape_), arguments_);
            launch_residual(executor, false);
        }
    }
    /// Whether the basis is known to be accurate in fp32, so that no round is repeated: monomial up
    /// to 4 steps, the others up to 8.
    bool is_sound() const {
        return parameters_.s_step <= (parameters_.basis == Basis::monomial ? 4 : 8);
    }
    void finish(Executor& executor) {
        if (plan_.fits()) return;
        core::launch(executor, &ca_finish_kernel<reduction_threads>,
                     reduction_config(executor, shape_), arguments_);
    }

    /// On chip, after all rounds; otherwise without the last one. Waits for the device.
    SolverProgress progress(Executor& executor) {
        fetch(executor, states_, states_on_host_);
        const CaState& state = known_state();
        return {state.done, state.stopped != 0, state.products};
    }
    /// |r| of the start and of all iterations, relative to `right`. Waits for the device.
    void history(Executor& executor, double right, std::vector<double>& residuals) {
        const int done = progress(executor).done;
        residuals.push_back(std::sqrt(known_state().start_squared) / right);
        fetch(executor, history_, history_on_host_);
        for (int i = 0; i < done; ++i) {
            residuals.push_back(std::sqrt(history_on_host_(i)) / right);
        }
    }

  private:
    static constexpr int most_resident_threads = 1024;

    int vectors() const { return 2 * parameters_.s_step + 1; }

    // On chip, blocks may still read the first state after one has stored the final one.
    const CaState& known_state() const { return states_on_host_(plan_.fits() ? 1 : 0); }

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

    void launch_residual(Executor& executor, bool first) {
        with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
            core::launch(executor,
                         &ca_residual_kernel<decltype(coupling)::value, decltype(boundary)::value>,
                         reduction_config(executor, shape_), arguments_, first);
        });
    }

    Shape shape_;
    SolverParameters parameters_;
    OnChipPlan plan_;
    Coupling coupling_ = Coupling::five;
    Boundary boundary_ = Boundary::replicate;
    RecurrenceTable recurrence_{};
    unsigned powers_blocks_ = 0;
    CaArguments arguments_{};
    PlaneArray<Space> basis_;
    PlaneArray<Space> solution_;
    PlaneArray<Space> scaled_[2];
    Parts<3, Space> residuals_;
    Parts<2, Space> growth_[2];
    core::Array<double, 1, Space> eigenvalues_;
    core::Array<double, 1, Space> gram_;
    core::Array<Sums<3>, 1, Space> tile_residuals_;
    core::Array<float, 1, Space> coordinates_;
    core::Array<double, 1, Space> history_;
    core::Array<double, 1> history_on_host_;
    core::Array<CaState, 1, Space> states_;
    core::Array<CaState, 1> states_on_host_;
};

#endif

}  // namespace aperture::flow::gpu
