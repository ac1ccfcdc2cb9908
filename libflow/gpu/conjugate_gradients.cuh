// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conjugate gradients, preconditioned by the inverse 2x2 blocks on request (Saad 2003, algorithm
// 9.1), without host round trips: every kernel computes its scalars from the previous kernel's
// sums, and does nothing once the iteration has ended.

#include "libcore/gpu/grid.cuh"
#include "libflow/gpu/operator.cuh"
#include "libflow/gpu/reductions.cuh"
#include "libflow/solver_model.hpp"

namespace aperture::flow::gpu {

struct CgPlanes {
    SystemPlanes system;
    Planes<float> x;
    Planes<float> residual;      ///< r
    Planes<float> scaled;        ///< z = M^-1 r; r itself without preconditioning
    Planes<float> direction[2];  ///< p of the previous iteration, and of this one
    Planes<float> product;       ///< A p
    Planes<float> kept;          ///< a solution before
    Sums<1>* right;              ///< |b|^2
    Sums<1>* curvature;          ///< p^T A p
    Sums<2>* norms;              ///< r^T r, r^T z
    CgState* states;  ///< [2]: before and after the computation of an iteration's direction; after
                      ///< cg_finish_kernel the last is the second
    CgLimits limits;
    bool precondition;

    __device__ __forceinline__ Pair scale(int y, int x_, Pair r) const {
        return precondition ? block_at(system.inverse, y, x_) * r : r;
    }
};

/// Stages of the two halves of an iteration; a kernel runs one or several of them.
enum CgProductStage : unsigned {
    make_direction = 1,  ///< p = z + beta p
    make_product = 2,    ///< A p
    make_curvature = 4,  ///< p^T A p
};
enum CgAdvanceStage : unsigned {
    advance_solution = 1,  ///< x += alpha p
    advance_residual = 2,  ///< r -= alpha A p
    scale_residual = 4,    ///< z = M^-1 r
    make_norms = 8,        ///< r^T r, r^T z
};

/// The state that the last kernel left. All threads of the block must call.
__device__ __forceinline__ CgState load_state(const CgPlanes& cg) {
    CgState state = cg.states[0];
    if (state.done == 0) {
        const Sums<1> right = total_of(cg.right, static_cast<int>(gridDim.x));
        state.kept_squared = first_kept * right.value[0];
    }
    return state;
}

/// The state before an iteration. All threads of the block must call.
__device__ __forceinline__ CgState begin_iteration(const CgPlanes& cg, const CgState& state) {
    const Sums<2> norms = total_of(cg.norms, static_cast<int>(gridDim.x));
    return begin_iteration(state, norms.value[0], norms.value[1], cg.limits);
}

__device__ __forceinline__ Pair next_direction(float beta, Pair z, const Planes<float>& before,
                                               int y, int x) {
    // The planes are not initialised before the first direction.
    return beta == 0.0F ? z : z + beta * pair_at(before, y, x);
}

/// Keeps the solution before a step.
__device__ __forceinline__ void keep_solution(const CgPlanes& cg, float alpha,
                                              const Planes<float>& direction) {
    for_own_pixels(rows_of(cg.x), columns_of(cg.x), [&](int y, int x) {
        store_pair(cg.kept, y, x, pair_at(cg.x, y, x) - alpha * pair_at(direction, y, x));
    });
}

/// r = b - A x, z and their norms, and that of b. Threads visit pixels by for_own_pixels; shared
/// memory: reduction_shared. Moves 56 bytes a pixel.
template <Coupling coupling, Boundary boundary>
__global__ void cg_start_kernel(CgPlanes cg) {
    Sums<1> own_right{};
    Sums<2> own{};
    for_own_pixels(rows_of(cg.x), columns_of(cg.x), [&](int y, int x) {
        const Pair b = pair_at(cg.system.right, y, x);
        const Pair r = residual_at<coupling, boundary>(
            cg.system, y, x, [&](int i, int j) { return pair_at(cg.x, i, j); });
        const Pair z = cg.scale(y, x, r);
        store_pair(cg.residual, y, x, r);
        if (cg.precondition) store_pair(cg.scaled, y, x, z);
        own_right.value[0] += static_cast<double>(dot(b, b));
        own = own + Sums<2>{{static_cast<double>(dot(r, r)), static_cast<double>(dot(r, z))}};
    });
    store_part(own_right, cg.right);
    store_part(own, cg.norms);
    if (first_thread()) {
        CgState state{};
        state.kept = -1;
        cg.states[0] = state;
    }
}

/// The first half of an iteration: direction[1 - parity] from direction[parity], its product, and
/// the curvature; only the parts in `stages`. With the direction, the solution before is kept where
/// begin_iteration() says so. Threads visit pixels by for_own_pixels; shared
/// memory: reduction_shared. All stages together move 44 bytes a pixel (neighbours come from the
/// cache), 31 flops.
template <Coupling coupling, Boundary boundary, unsigned stages>
__global__ void cg_product_kernel(CgPlanes cg, int parity) {
    float beta = 0;
    if constexpr ((stages & make_direction) != 0) {
        const CgState state = begin_iteration(cg, load_state(cg));
        if (first_thread()) cg.states[1] = state;
        if (state.keep != 0) keep_solution(cg, state.alpha, cg.direction[parity]);
        if (state.stopped != 0) return;
        beta = state.beta;
    } else {
        if (cg.states[1].stopped != 0) return;
    }
    const Planes<float>& before = cg.direction[parity];
    const Planes<float>& now = cg.direction[1 - parity];
    const auto direction = [&](int y, int x) {
        if constexpr ((stages & make_direction) != 0) {
            return next_direction(beta, pair_at(cg.scaled, y, x), before, y, x);
        } else {
            return pair_at(now, y, x);
        }
    };
    Sums<1> own{};
    for_own_pixels(rows_of(cg.x), columns_of(cg.x), [&](int y, int x) {
        const Pair p = direction(y, x);
        if constexpr ((stages & make_direction) != 0) store_pair(now, y, x, p);
        Pair product{};
        if constexpr ((stages & make_product) != 0) {
            product = multiply<coupling, boundary>(cg.system, y, x, p, direction);
            store_pair(cg.product, y, x, product);
        } else if constexpr ((stages & make_curvature) != 0) {
            product = pair_at(cg.product, y, x);
        }
        if constexpr ((stages & make_curvature) != 0) {
            own.value[0] += static_cast<double>(dot(p, product));
        }
    });
    if constexpr ((stages & make_curvature) != 0) store_part(own, cg.curvature);
}

/// The second half: advances solution and residual along direction[1 - parity], and computes the
/// residual's norms; only the parts in `stages`. Threads visit pixels by for_own_pixels; shared
/// memory: reduction_shared. All stages together move 68 bytes a pixel, 22 flops.
template <unsigned stages>
__global__ void cg_advance_kernel(CgPlanes cg, int parity) {
    CgState state = cg.states[1];
    // If the start has converged, no curvature was ever stored.
    double curvature = 0;
    if (state.stopped == 0) {
        curvature = total_of(cg.curvature, static_cast<int>(gridDim.x)).value[0];
    }
    const bool go_on = curvature > cg.limits.products;
    const auto alpha = static_cast<float>(state.scaled_product / curvature);
    if constexpr ((stages & make_norms) != 0) {
        if (go_on) {
            state.alpha = alpha;
            ++state.done;
        } else {
            state.stopped = 1;
        }
        if (first_thread()) cg.states[0] = state;
    }
    if (!go_on) return;
    Sums<2> own{};
    for_own_pixels(rows_of(cg.x), columns_of(cg.x), [&](int y, int x) {
        if constexpr ((stages & advance_solution) != 0) {
            store_pair(cg.x, y, x,
                       pair_at(cg.x, y, x) + alpha * pair_at(cg.direction[1 - parity], y, x));
        }
        if constexpr (stages != advance_solution) {
            Pair r = pair_at(cg.residual, y, x);
            if constexpr ((stages & advance_residual) != 0) {
                r = r - alpha * pair_at(cg.product, y, x);
                store_pair(cg.residual, y, x, r);
            }
            Pair z = r;
            if constexpr ((stages & scale_residual) != 0) {
                z = cg.scale(y, x, r);
                if (cg.precondition) store_pair(cg.scaled, y, x, z);
            } else if constexpr ((stages & make_norms) != 0) {
                z = pair_at(cg.scaled, y, x);
            }
            if constexpr ((stages & make_norms) != 0) {
                own =
                    own + Sums<2>{{static_cast<double>(dot(r, r)), static_cast<double>(dot(r, z))}};
            }
        }
    });
    if constexpr ((stages & make_norms) != 0) store_part(own, cg.norms);
}

/// Blocks of the cooperative kernel that must be resident on a multiprocessor at once.
inline constexpr int resident_blocks = reduction_blocks_per_multiprocessor;

/// Many iterations in one cooperative kernel, with a thread's x, r and coefficients in registers; z
/// and p go through memory for the neighbours. Threads visit `items` pixels by for_own_pixels. Each
/// iteration has two grid barriers, writes 16 bytes a pixel between them, and reads z and p within
/// the stencil; shared memory: reduction_shared.
template <Coupling coupling, Boundary boundary, int items>
__global__ void __launch_bounds__(reduction_threads, resident_blocks)
    cg_persistent_kernel(CgPlanes cg, int iterations, int parity) {
    const int blocks = static_cast<int>(gridDim.x);
    Pair solution[items]{};
    Pair residual[items]{};
    Pair product[items]{};
    SymmetricBlock tensor[items]{};
    SymmetricBlock inverse[items]{};
    // Same pixels and order as for_own_pixels, with compile-time indices.
    const auto for_items = [&](const auto& visit) {
        const int across = (columns_of(cg.x) + reduction_columns - 1) / reduction_columns;
        APERTURE_UNROLL
        for (int k = 0; k < items; ++k) {
            const int tile = static_cast<int>(blockIdx.x) + k * blocks;
            const int y = tile / across * reduction_rows + static_cast<int>(threadIdx.y);
            const int x = tile % across * reduction_columns + static_cast<int>(threadIdx.x);
            if (y < rows_of(cg.x) && x < columns_of(cg.x)) visit(k, y, x);
        }
    };
    for_items([&](int k, int y, int x) {
        solution[k] = pair_at(cg.x, y, x);
        residual[k] = pair_at(cg.residual, y, x);
        tensor[k] = block_at(cg.system.tensor, y, x);
        inverse[k] = {1.0F, 0.0F, 1.0F};
        if (cg.precondition) inverse[k] = block_at(cg.system.inverse, y, x);
    });
    CgState state = load_state(cg);
    const int end = state.done + iterations;
    while (state.stopped == 0 && state.done < end) {
        const Planes<float>& now = cg.direction[1 - parity];
        const Planes<float>& before = cg.direction[parity];
        state = begin_iteration(cg, state);
        if (state.keep != 0) {
            for_items([&](int k, int y, int x) {
                store_pair(cg.kept, y, x, solution[k] - state.alpha * pair_at(before, y, x));
            });
        }
        if (state.stopped != 0) break;
        const auto next = [&](int y, int x) {
            return next_direction(state.beta, pair_at(cg.scaled, y, x), before, y, x);
        };
        Sums<1> own_curvature{};
        for_items([&](int k, int y, int x) {
            const Pair p = next(y, x);
            store_pair(now, y, x, p);
            product[k] = tensor[k] * p + flux<coupling, boundary>(cg.system, y, x, p, next);
            own_curvature.value[0] += static_cast<double>(dot(p, product[k]));
        });
        store_part(own_curvature, cg.curvature);
        core::grid_sync();
        const double curvature = total_of(cg.curvature, blocks).value[0];
        if (!(curvature > cg.limits.products)) {
            state.stopped = 1;
            break;
        }
        state.alpha = static_cast<float>(state.scaled_product / curvature);
        Sums<2> own{};
        for_items([&](int k, int y, int x) {
            solution[k] = solution[k] + state.alpha * pair_at(now, y, x);
            residual[k] = residual[k] - state.alpha * product[k];
            const Pair z = inverse[k] * residual[k];
            store_pair(cg.scaled, y, x, z);
            own = own + Sums<2>{{static_cast<double>(dot(residual[k], residual[k])),
                                 static_cast<double>(dot(residual[k], z))}};
        });
        store_part(own, cg.norms);
        core::grid_sync();
        ++state.done;
        parity = 1 - parity;
    }
    for_items([&](int k, int y, int x) {
        store_pair(cg.x, y, x, solution[k]);
        store_pair(cg.residual, y, x, residual[k]);
    });
    if (first_thread()) cg.states[0] = state;
}

/// Returns to the kept solution, and its iterations, where the last one is much worse;
/// direction[parity] is the last one. Threads visit pixels by for_own_pixels; shared memory:
/// reduction_shared.
inline __global__ void cg_finish_kernel(CgPlanes cg, int parity) {
    CgState state = begin_iteration(cg, load_state(cg));
    if (!returns_kept(state)) {
        if (first_thread()) cg.states[1] = state;
        return;
    }
    if (state.keep != 0) keep_solution(cg, state.alpha, cg.direction[parity]);
    for_own_pixels(rows_of(cg.x), columns_of(cg.x),
                   [&](int y, int x) { store_pair(cg.x, y, x, pair_at(cg.kept, y, x)); });
    state.done = state.kept;
    if (first_thread()) cg.states[1] = state;
}

template <class Executor>
class ConjugateGradients {
  public:
    using Space = typename Executor::Space;

    ConjugateGradients() = default;
    /// All iterations in one kernel where the image fits the registers, unless staged or not
    /// `on_chip`.
    ConjugateGradients(Executor& executor, Shape shape, bool precondition,
                       Implementation implementation, bool on_chip = true)
        : executor_(&executor),
          shape_(shape),
          staged_(implementation == Implementation::staged),
          items_(on_chip && !staged_ ? items_on_chip(executor, shape) : 0),
          precondition_(precondition),
          residual_(2, shape),
          product_(2, shape),
          kept_(2, shape),
          right_(executor, shape),
          curvature_(executor, shape),
          norms_(executor, shape),
          states_({2}),
          states_on_host_({2}) {
        for (PlaneArray<Space>& direction : directions_) direction = PlaneArray<Space>(2, shape);
        if (precondition) scaled_ = PlaneArray<Space>(2, shape);
    }

    bool in_one_kernel() const { return items_ > 0; }

    /// Starts from `x`, in place, to continue until |r|^2 <= limit. The caller keeps the planes.
    void start(const PreparedSystem<Executor>& system, const Planes<float>& x, double limit);

    /// `count` iterations, fewer if the tolerance is reached or no further step is possible.
    void advance(int count);

    /// Returns to the kept solution, and its iterations, where the last one is much worse.
    void finish() {
        launch(&cg_finish_kernel, planes_, parity_);
        latest_ = 1;
    }

    /// Waits for the device.
    SolverProgress progress() {
        fetch(*executor_, states_, states_on_host_);
        const CgState& state = states_on_host_(latest_);
        return {state.done, state.stopped != 0};
    }

  private:
    template <class Kernel, class... Args>
    void launch(Kernel kernel, const Args&... args) {
        core::launch(*executor_, kernel, reduction_config(*executor_, shape_), args...);
    }

    template <Coupling c, Boundary b>
    void fused() {
        launch(&cg_product_kernel<c, b, make_direction | make_product | make_curvature>, planes_,
               parity_);
        launch(
            &cg_advance_kernel<advance_solution | advance_residual | scale_residual | make_norms>,
            planes_, parity_);
    }

    template <Coupling c, Boundary b>
    void staged() {
        launch(&cg_product_kernel<c, b, make_direction>, planes_, parity_);
        launch(&cg_product_kernel<c, b, make_product>, planes_, parity_);
        launch(&cg_product_kernel<c, b, make_curvature>, planes_, parity_);
        launch(&cg_advance_kernel<advance_solution>, planes_, parity_);
        launch(&cg_advance_kernel<advance_residual>, planes_, parity_);
        if (precondition_) launch(&cg_advance_kernel<scale_residual>, planes_, parity_);
        launch(&cg_advance_kernel<make_norms>, planes_, parity_);
    }

    template <Coupling c, Boundary b, int items>
    void persist(int count) {
        core::launch_cooperative(*executor_, &cg_persistent_kernel<c, b, items>,
                                 reduction_config(*executor_, shape_), planes_, count, parity_);
    }

    /// Pixels a thread of cg_persistent_kernel; 0 if more than its registers hold.
    static int items_on_chip(const Executor& executor, Shape shape) {
        constexpr index_t most = 2;
        const index_t blocks = reduction_config(executor, shape).grid.x;
        const index_t items = (reduction_tiles(shape) + blocks - 1) / blocks;
        return items <= most ? static_cast<int>(items) : 0;
    }

    Executor* executor_ = nullptr;
    Shape shape_;
    bool staged_ = false;
    int items_ = 0;
    bool precondition_ = true;
    Coupling coupling_ = Coupling::five;
    Boundary boundary_ = Boundary::replicate;
    int parity_ = 0;
    int latest_ = 0;  ///< which state is that of the last kernel
    CgPlanes planes_{};
    PlaneArray<Space> residual_;
    PlaneArray<Space> scaled_;
    PlaneArray<Space> product_;
    PlaneArray<Space> directions_[2];
    PlaneArray<Space> kept_;
    Parts<1, Space> right_;
    Parts<1, Space> curvature_;
    Parts<2, Space> norms_;
    core::Array<CgState, 1, Space> states_;
    core::Array<CgState, 1> states_on_host_;
};

template <class Executor>
void ConjugateGradients<Executor>::start(const PreparedSystem<Executor>& system,
                                         const Planes<float>& x, double limit) {
    coupling_ = system.coupling();
    boundary_ = system.boundary();
    parity_ = 0;
    latest_ = 0;
    planes_.system = system.planes();
    planes_.x = x;
    planes_.residual = residual_.planes();
    planes_.scaled = precondition_ ? scaled_.planes() : residual_.planes();
    planes_.direction[0] = directions_[0].planes();
    planes_.direction[1] = directions_[1].planes();
    planes_.product = product_.planes();
    planes_.kept = kept_.planes();
    planes_.right = right_.data();
    planes_.curvature = curvature_.data();
    planes_.norms = norms_.data();
    planes_.states = states_.data();
    planes_.limits = cg_limits(shape_, limit);
    planes_.precondition = precondition_;
    with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
        launch(&cg_start_kernel<decltype(coupling)::value, decltype(boundary)::value>, planes_);
    });
}

template <class Executor>
void ConjugateGradients<Executor>::advance(int count) {
    with_stencil(coupling_, boundary_, [&](auto coupling, auto boundary) {
        constexpr Coupling c = decltype(coupling)::value;
        constexpr Boundary b = decltype(boundary)::value;
        if (in_one_kernel()) {
            items_ == 1 ? persist<c, b, 1>(count) : persist<c, b, 2>(count);
            parity_ = (parity_ + count) % 2;
            return;
        }
        for (int i = 0; i < count; ++i) {
            staged_ ? staged<c, b>() : fused<c, b>();
            parity_ = 1 - parity_;
        }
    });
}

#if defined(__CUDACC__)
extern template class ConjugateGradients<core::Gpu>;
#endif

}  // namespace aperture::flow::gpu
