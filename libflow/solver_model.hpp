// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the solvers of all executors share: couplings, multigrid's constants, and the basis and
// rounds of communication-avoiding CG.

#include <type_traits>
#include <vector>

#include "aperture/core/portable.hpp"
#include "aperture/flow/linear_system.hpp"

namespace aperture::flow {

template <class Space>
Coupling coupling_of(const LinearSystem<Space>& system) {
    if (!system.coupling.empty()) return Coupling::weighted;
    return system.stencil == Stencil::nine ? Coupling::nine : Coupling::five;
}

/// Calls function(std::integral_constant<Coupling, ...>).
template <class Function>
void with_coupling(Coupling coupling, const Function& function) {
    switch (coupling) {
        case Coupling::five:
            return function(std::integral_constant<Coupling, Coupling::five>{});
        case Coupling::nine:
            return function(std::integral_constant<Coupling, Coupling::nine>{});
        case Coupling::weighted:
            return function(std::integral_constant<Coupling, Coupling::weighted>{});
    }
}

/// The sum of the weights of Coupling::five or Coupling::nine, without alpha^2.
APERTURE_HD constexpr float weight_of_neighbours(Coupling coupling) {
    return coupling == Coupling::nine ? 3.0F : 4.0F;
}

/// The summed weights, without alpha^2, of neighbours outside the image that repeat pixel (y, x).
template <class Index>
APERTURE_HD float weight_of_repeats(Coupling coupling, Index rows, Index columns, Index y,
                                    Index x) {
    if (coupling == Coupling::weighted) return 0.0F;
    const float across = (x == 0 ? 1.0F : 0.0F) + (x + 1 == columns ? 1.0F : 0.0F);
    const float down = (y == 0 ? 1.0F : 0.0F) + (y + 1 == rows ? 1.0F : 0.0F);
    if (coupling == Coupling::nine) return 0.5F * (across + down) + 0.25F * across * down;
    return across + down;
}

/// Colours of Gauss-Seidel: of a chess board, or for Coupling::nine of a 2x2 block.
APERTURE_HD constexpr int colours_of(Coupling coupling) {
    return coupling == Coupling::nine ? 4 : 2;
}

/// Multigrid: sweeps before and after a coarser level, and on the coarsest one, where they solve
/// for its few pixels.
inline constexpr int smoothing_sweeps = 2;
inline constexpr int coarsest_sweeps = 16;

/// Shape of the next coarser level, which merges 2x2 pixels.
inline Shape halved(Shape shape) { return {(shape.rows + 1) / 2, (shape.columns + 1) / 2}; }
inline bool is_coarsest(Shape shape) { return shape.rows <= 2 && shape.columns <= 2; }

/// Progress of Solver::cg or Solver::cacg.
struct SolverProgress {
    int done = 0;          ///< iterations
    bool stopped = false;  ///< the tolerance or the maximum is reached, or no step is possible
    int products = 0;      ///< with A; Solver::cacg only
};

/// Recurrence of polynomials of a matrix B:
///
///     y_(k+1) = (B y_k - shift_k y_k - back_k y_(k-1)) / scale_k
struct Recurrence {
    std::vector<double> shift, back, scale;
};

/// The recurrence of a basis of `steps` steps for a B with eigenvalues in [0, largest]; all
/// coefficients are proportional to `largest`.
Recurrence basis_recurrence(Basis basis, int steps, double largest);

/// A bound of the eigenvalues of M^-1 A: A = M - S, where S is the sum over the neighbours, and M +
/// S is positive semi-definite, too.
inline constexpr double largest_preconditioned = 2;
/// Without preconditioning: powers of A that estimate its largest eigenvalue, and the factor that
/// makes the estimate a bound.
inline constexpr int eigenvalue_powers = 12;
inline constexpr double eigenvalue_safety = 1.1;

/// The distance of the recurred from the true residual, relative to the latter, above which the
/// recurrence has diverged.
inline constexpr double diverged_distance = 0.01;
/// The growth of the squared residual above its least value that only a numerically dependent basis
/// causes, and the iterations without a new least value after which a smaller basis is tried.
inline constexpr double dependent_growth = 100;
inline constexpr int longest_stall = 100;

struct CaLimits {
    double squared;  ///< stops at |b - A x|^2 <= this
    int iterations;  ///< maximum
};

struct CaState {
    double largest;           ///< eigenvalues of M^-1 A lie in [0, largest]
    double start_squared;     ///< |b - A x|^2 of the start
    double residual_squared;  ///< of the kept solution
    double least_squared;     ///< the least so far
    int begun;
    int stopped;
    int steps;     ///< s
    int current;   ///< which solution is kept
    int replaced;  ///< the true residual replaces z
    int restart;   ///< and p
    int done;      ///< iterations kept
    int taken;     ///< iterations of the current round
    int stalled;   ///< iterations since the least residual
    int products;  ///< with A
};

struct RoundSums {
    double residual;  ///< |r|^2
    double scaled;    ///< |z|^2
    double away;      ///< |z - recurred z|^2
};

/// The state after the start, or after a round with these sums. A round is discarded if its
/// residual exceeds any that CG can have: its basis is then numerically dependent, and the next
/// round has half as many steps. So it has after many iterations without a new least residual. The
/// true residual replaces the recurrence once they have diverged (van der Vorst & Ye 2000), and
/// directions restart if it no longer falls.
APERTURE_HD CaState evaluate_round(CaState state, const RoundSums& sums, const CaLimits& limits) {
    if (state.stopped != 0) return state;
    if (state.begun == 0) {
        state.begun = 1;
        state.replaced = state.restart = 1;
        state.start_squared = state.residual_squared = state.least_squared = sums.residual;
    } else {
        state.products += 2 * state.steps;
        if (state.taken > 0 && sums.residual < dependent_growth * state.least_squared) {
            state.current = 1 - state.current;
            state.done += state.taken;
            state.replaced =
                sums.away > diverged_distance * diverged_distance * sums.scaled ? 1 : 0;
            state.restart = state.replaced != 0 && sums.residual > state.residual_squared ? 1 : 0;
            state.residual_squared = sums.residual;
            state.stalled = sums.residual < state.least_squared ? 0 : state.stalled + state.taken;
            if (sums.residual < state.least_squared) state.least_squared = sums.residual;
            if (state.stalled >= longest_stall && state.steps > 1) {
                state.steps /= 2;
                state.stalled = 0;
                state.replaced = state.restart = 1;
            }
        } else if (state.steps > 1) {
            state.steps /= 2;
            state.replaced = state.restart = 1;
        } else {
            state.stopped = 1;
        }
    }
    state.taken = 0;
    if (!(state.residual_squared > 0) || state.residual_squared <= limits.squared ||
        state.done >= limits.iterations) {
        state.stopped = 1;
    }
    return state;
}

}  // namespace aperture::flow
