// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conjugate gradients, s iterations at a time (Carson 2015, algorithm 7; Hoemmen 2010), as in
// libflow/cpu/communication_avoiding_cg.hpp, with the basis on chip: what comes before
// ca_on_chip_kernel, and what the host reads after it.

#include "libflow/gpu/ca_on_chip.cuh"
#include "libflow/solver_model.hpp"

namespace aperture::flow::gpu {

/// One of the powers of A on the residual, scaled by the growth so far. Threads visit pixels by
/// for_own_pixels; shared memory: reduction_shared. Moves 28 bytes a pixel.
template <Coupling coupling, Boundary boundary>
__global__ void ca_eigenvalue_kernel(CaArguments a, int power) {
    const double largest = largest_so_far(a, power);
    if (first_thread()) a.eigenvalues[power] = largest;
    const auto scale = static_cast<float>(1 / largest);
    const auto field = [&](int y, int x) {
        return scale *
               (power == 0 ? pair_at(a.scaled[0], y, x) : vector_at(a.basis, power % 2, y, x));
    };
    Sums<2> own{};
    for_own_pixels(rows_of(a.scaled[0]), columns_of(a.scaled[0]), [&](int y, int x) {
        const Pair from = field(y, x);
        const Pair to = multiply<coupling, boundary>(a.system, y, x, from, field);
        store_vector(a.basis, (power + 1) % 2, y, x, to);
        own =
            own + Sums<2>{{static_cast<double>(dot(from, from)), static_cast<double>(dot(to, to))}};
    });
    store_part(own, a.growth[power % 2]);
}

/// The first state, and z = M^-1 (b - A x) with its sums. Threads visit pixels by for_own_pixels;
/// shared memory: reduction_shared. Moves 56 bytes a pixel.
template <Coupling coupling, Boundary boundary>
__global__ void ca_start_kernel(CaArguments a) {
    if (first_thread()) {
        CaState state{};
        state.steps = a.steps;
        state.products = a.precondition ? 1 : 1 + eigenvalue_powers;
        a.states[0] = state;
    }
    Sums<3> own{};
    for_own_pixels(rows_of(a.system.tensor), columns_of(a.system.tensor), [&](int y, int x) {
        const Pair r = residual_at<coupling, boundary>(
            a.system, y, x, [&](int i, int j) { return pair_at(a.solution[0], i, j); });
        const Pair z = a.precondition ? block_at(a.system.inverse, y, x) * r : r;
        store_pair(a.scaled[0], y, x, z);
        own = own + Sums<3>{{static_cast<double>(dot(r, r)), static_cast<double>(dot(z, z)), 0.0}};
    });
    store_part(own, a.residuals);
}

template <class Executor>
class CommunicationAvoidingCg {
  public:
    using Space = typename Executor::Space;

    CommunicationAvoidingCg() = default;
    /// The plan must fit.
    CommunicationAvoidingCg(Executor& executor, Shape shape, const SolverParameters& parameters,
                            const OnChipPlan& plan)
        : executor_(&executor),
          shape_(shape),
          parameters_(parameters),
          plan_(plan),
          basis_(4, shape),
          solution_(2, shape),
          scaled_{PlaneArray<Space>(2, shape), PlaneArray<Space>(2, shape)},
          residuals_(executor, shape),
          growth_{Parts<2, Space>(executor, shape), Parts<2, Space>(executor, shape)},
          eigenvalues_({eigenvalue_powers}),
          tile_residuals_({plan.tiles(shape)}),
          states_({2}),
          states_on_host_({2}) {
        Recurrence unit;
        unit.assign(parameters.basis, parameters.s_step, 1);
        for (std::size_t k = 0; k < unit.shift.size(); ++k) {
            recurrence_.shift[k] = static_cast<float>(unit.shift[k]);
            recurrence_.back[k] = static_cast<float>(unit.back[k]);
            recurrence_.scale[k] = static_cast<float>(unit.scale[k]);
        }
        with_most_steps(parameters.s_step, [&](auto most) {
            constexpr int vectors = BasisLayout<decltype(most)::value>::vectors;
            gram_ = core::Array<double, 1, Space>({vectors * (vectors + 1) * plan.tiles(shape)});
        });
    }

    /// Starts from `x`, in place, to continue until |b - A x|^2 <= limit. Keeps |r|^2 of every
    /// iteration if `with_history`. The caller keeps ownership of the planes.
    void start(const PreparedSystem<Executor>& system, const Planes<float>& x, double limit,
               bool with_history) {
        coupling_ = system.coupling();
        boundary_ = system.boundary();
        if (with_history && history_.size() == 0) {
            history_ = core::Array<double, 1, Space>({std::max(parameters_.iterations, 1)});
            history_on_host_ = core::Array<double, 1>(history_.extent());
        }
        arguments_.system = system.planes();
        arguments_.basis = basis_.planes();
        arguments_.recurrence = recurrence_;
        arguments_.precondition = parameters_.precondition;
        arguments_.solution[0] = x;
        arguments_.solution[1] = solution_.planes();
        for (int i : {0, 1}) arguments_.scaled[i] = scaled_[i].planes();
        arguments_.residuals = residuals_.data();
        for (int i : {0, 1}) arguments_.growth[i] = growth_[i].data();
        arguments_.eigenvalues = eigenvalues_.data();
        arguments_.parts = residuals_.blocks();
        arguments_.gram = gram_.data();
        arguments_.history = with_history ? history_.data() : nullptr;
        arguments_.states = states_.data();
        arguments_.limits = {limit, parameters_.iterations};
        arguments_.steps = parameters_.s_step;
        with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
            constexpr Coupling c = decltype(coupling)::value;
            constexpr Boundary b = decltype(boundary)::value;
            const core::LaunchConfig config = reduction_config(*executor_, shape_);
            core::launch(*executor_, &ca_start_kernel<c, b>, config, arguments_);
            if (parameters_.precondition) return;
            for (int power = 0; power < eigenvalue_powers; ++power) {
                core::launch(*executor_, &ca_eigenvalue_kernel<c, b>, config, arguments_, power);
            }
        });
    }
    /// What start() has prepared.
    const CaArguments& arguments() const { return arguments_; }

    /// All rounds, whatever their number: one kernel does them. Asynchronous.
    void advance(int) {
        solve_on_chip(*executor_, coupling_, boundary_, arguments_, plan_, tile_residuals_.data());
    }

    /// Whether the basis is known to be accurate in fp32, so that no round is repeated: monomial up
    /// to 4 steps, the others up to 8.
    bool is_sound() const {
        return parameters_.s_step <= (parameters_.basis == Basis::monomial ? 4 : 8);
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
    /// After all rounds. Waits for the device.
    SolverProgress progress() {
        fetch(*executor_, states_, states_on_host_);
        const CaState& state = states_on_host_(1);
        return {state.done, state.stopped != 0, state.products};
    }
    /// |r| of the start and of all iterations, relative to `right`. Waits for the device.
    void append_history(double right, std::vector<double>& residuals) {
        const int done = progress().done;
        residuals.push_back(std::sqrt(states_on_host_(1).start_squared) / right);
        fetch(*executor_, history_, history_on_host_);
        for (int i = 0; i < done; ++i) {
            residuals.push_back(std::sqrt(history_on_host_(i)) / right);
        }
    }

  private:
    Executor* executor_ = nullptr;
    Shape shape_;
    SolverParameters parameters_;
    OnChipPlan plan_;
    Coupling coupling_ = Coupling::five;
    Boundary boundary_ = Boundary::replicate;
    RecurrenceTable recurrence_{};
    CaArguments arguments_{};
    PlaneArray<Space> basis_;
    PlaneArray<Space> solution_;
    PlaneArray<Space> scaled_[2];
    Parts<3, Space> residuals_;
    Parts<2, Space> growth_[2];
    core::Array<double, 1, Space> eigenvalues_;
    core::Array<double, 1, Space> gram_;
    core::Array<Sums<3>, 1, Space> tile_residuals_;
    core::Array<double, 1, Space> history_;
    core::Array<double, 1> history_on_host_;
    core::Array<CaState, 1, Space> states_;
    core::Array<CaState, 1> states_on_host_;
};

}  // namespace aperture::flow::gpu
