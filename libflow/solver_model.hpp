// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the solvers of all executors share: checks, couplings, the 2x2 blocks, free directions,
// multigrid's constants, and the basis and rounds of communication-avoiding CG.

#include <cfloat>
#include <cmath>
#include <type_traits>
#include <vector>

#include "aperture/core/portable.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/flow/linear_system.hpp"

namespace aperture::flow {

/// A Laplacian with equal weights, or a given weight for every pair of neighbours.
enum class Coupling { five, nine, weighted };

/// Throws core::InvalidArgument for an image without pixels.
inline void check_shape(Shape shape) {
    core::expects(shape.rows > 0 && shape.columns > 0, "image of ", shape.rows, " x ",
                  shape.columns, " pixels");
}

/// Throws core::InvalidArgument if the views of a system do not fit `shape` or each other.
template <class Space>
void check_system(const LinearSystem<Space>& system, Shape shape) {
    using core::Strides;
    core::expects(system.smoothness > 0 && std::isfinite(system.smoothness),
                  "smoothness alpha^2 is ", system.smoothness, ", expected more than 0 and finite");
    core::expects_shape("tensor", system.tensor, {3, shape.rows, shape.columns},
                        Strides::unit_last);
    core::expects_shape("right-hand side", system.right, {2, shape.rows, shape.columns},
                        Strides::unit_last);
    if (system.coupling.empty()) return;
    core::expects_shape("coupling", system.coupling, {2, shape.rows, shape.columns},
                        Strides::unit_last);
    core::expects(system.stencil == Stencil::five && system.boundary == Boundary::replicate,
                  "coupling requires the five-point stencil and replicated borders");
}

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

/// A symmetric 2x2 matrix. `Value` is float or a pack.
template <class Value>
struct SymmetricMatrix {
    Value a11;
    Value a12;
    Value a22;
};

/// The determinant of J + d I for a positive semi-definite J and d >= 0; zero if it is rounding
/// noise.
template <class Value>
APERTURE_HD Value determinant_of(const SymmetricMatrix<Value>& j, Value d) {
    constexpr float rounding = 1e-6F;
    const Value trace = j.a11 + j.a22;
    // Not D11 D22 - D12^2, which cancels for a tensor of rank one.
    const Value own = j.a11 * j.a22 - j.a12 * j.a12;
    return d * (trace + d) + (own > rounding * trace * trace ? own : Value{});
}

/// Colours of Gauss-Seidel: of a chess board, or for Coupling::nine of a 2x2 block.
APERTURE_HD constexpr int colours_of(Coupling coupling) {
    return coupling == Coupling::nine ? 4 : 2;
}

/// Projects (u, v) onto the free directions of an image with the summed tensor J; returns false if
/// there are none.
APERTURE_HD bool project_free(double j11, double j12, double j22, double* u, double* v) {
    // Below this ratio of eigenvalues the smaller one is rounding noise.
    constexpr double rounding = 2e-6;
    const double mean = (j11 + j22) / 2;
    const double half = (j11 - j22) / 2;
    const double radius = sqrt(half * half + j12 * j12);
    if (mean - radius > rounding * (mean + radius)) return false;
    if (mean == 0) return true;
    // Across the gradients: the eigenvector of the small eigenvalue, from the row of J - mean -
    // radius that does not cancel.
    const double across_u = half > 0 ? -j12 : radius - half;
    const double across_v = half > 0 ? radius + half : -j12;
    const double along =
        (across_u * *u + across_v * *v) / (across_u * across_u + across_v * across_v);
    *u = along * across_u;
    *v = along * across_v;
    return true;
}

/// Multigrid: sweeps before and after a coarser level. The coarsest is one pixel, which one sweep
/// solves.
inline constexpr int smoothing_sweeps = 2;

/// The part of the correction of the finest level that cycle number `cycle`, from 0, adds. Beside
/// jumps of J a correction may be up to three times too large. Where the first cycles have not been
/// enough, every second one adds half: |(1 - t) (1 - t / 2)| < 1 for 0 < t < 3.
inline constexpr int whole_corrections = 8;
inline float correction_share(int cycle) {
    return cycle >= whole_corrections && cycle % 2 == 0 ? 0.5F : 1.0F;
}

/// Shape of the next coarser level, which merges 2x2 pixels.
inline Shape halved(Shape shape) { return {(shape.rows + 1) / 2, (shape.columns + 1) / 2}; }
inline bool is_coarsest(Shape shape) { return shape.rows == 1 && shape.columns == 1; }

/// Whether a block of multigrid has one pixel along an axis of `extent` pixels: the last one of an
/// odd number. Restriction adds zero for the other one, so that a level has the sums of the finer
/// one. An axis of one pixel is not coarsened: that pixel counts twice everywhere.
template <class Index>
APERTURE_HD bool is_alone(Index block, Index extent) {
    return 2 * block + 1 == extent && extent > 1;
}

/// Boundary::zero on a level of multigrid: the weights, in units of alpha^2, between the first and
/// the last pixel of an axis and the zeros beyond. A weight is the inverse distance, 1 on the
/// finest level.
struct ZeroWeights {
    float first = 1;
    float last = 1;

    /// On the next coarser level of an axis of `extent` pixels. The centre of a block is half a
    /// pixel further away, and pixels are twice as large. That of a lone pixel is about at the
    /// zeros, or beyond: it is held at zero.
    template <class Index>
    APERTURE_HD ZeroWeights coarser(Index extent) const {
        if (extent == 1) return {4 * first, 4 * last};
        return {4 * first / (2 + first), extent % 2 != 0 ? 32.0F : 4 * last / (2 + last)};
    }
};

/// The same for both axes.
struct BorderWeights {
    ZeroWeights rows;
    ZeroWeights columns;

    template <class Index>
    APERTURE_HD BorderWeights coarser(Index row_count, Index column_count) const {
        return {rows.coarser(row_count), columns.coarser(column_count)};
    }
    /// What pixel (y, x) has more than on a finest level.
    template <class Index>
    APERTURE_HD float excess(Index row_count, Index column_count, Index y, Index x) const {
        return ((y == 0 ? rows.first - 1 : 0.0F) + (y + 1 == row_count ? rows.last - 1 : 0.0F)) +
               ((x == 0 ? columns.first - 1 : 0.0F) +
                (x + 1 == column_count ? columns.last - 1 : 0.0F));
    }
};

/// alpha^2 of the finest level times this is a tensor's eigenvalue that rounding hides.
inline constexpr float hidden_tensor = FLT_EPSILON;

/// The inverse of the mean tensor J of an image, the coarsest level where nothing but J determines
/// a constant flow. Without directions whose eigenvalue is below `hidden` or a rounding error of
/// J: there the mean of a residual is noise, which would grow from cycle to cycle.
APERTURE_HD SymmetricMatrix<float> inverse_of_mean(const SymmetricMatrix<float>& j, float hidden) {
    constexpr float rounding = 1e-6F;
    const float trace = j.a11 + j.a22;
    const float determinant = j.a11 * j.a22 - j.a12 * j.a12;
    // About the smaller eigenvalue times the larger one.
    if (determinant > trace * (hidden + rounding * trace)) {
        const float scale = 1.0F / determinant;
        return {j.a22 * scale, -j.a12 * scale, j.a11 * scale};
    }
    const float pseudo = trace > hidden ? 1.0F / (trace * trace) : 0.0F;
    return {j.a11 * pseudo, j.a12 * pseudo, j.a22 * pseudo};
}

/// Progress of Solver::cg or Solver::cacg.
struct SolverProgress {
    int done = 0;          ///< iterations
    bool stopped = false;  ///< the tolerance or the maximum is reached, or no step is possible
    int products = 0;      ///< with A; Solver::cacg only
};

/// Solver::cg in fp32 goes on after its true residual has come down to rounding. While the
/// recurrence still falls, that changes nothing. But what is left of the residual in a singular
/// system, or in one singular to rounding, makes it rise again and takes the solution anywhere. So
/// a solution is kept when the next step raises the residual, if |r|^2 is below worth_keeping times
/// that of the one kept before, at first below worth_keeping * first_kept |b|^2. It is returned if
/// |r|^2 is `dropped_growth` times as large at the end. The iteration ends at `impossible_growth`:
/// the root of the condition number, which is below 2^24 in fp32, bounds the growth of |r| in CG.
inline constexpr double worth_keeping = 0.25;
inline constexpr double first_kept = 1e-4;
inline constexpr double dropped_growth = 100;
inline constexpr double impossible_growth = 1 << 24;

struct CgLimits {
    double squared;   ///< stops at |r|^2 <= this
    double products;  ///< and at r^T M^-1 r or p^T A p <= this
};

/// A sum of fp32 products whose mean is below the normal numbers is rounding: steps from such sums
/// would let a solution that has converged grow without bound.
inline CgLimits cg_limits(Shape shape, double squared) {
    const auto unknowns = static_cast<double>(2 * shape.rows * shape.columns);
    return {squared, unknowns * static_cast<double>(FLT_MIN)};
}

struct CgState {
    double squared;         ///< |r|^2
    double scaled_product;  ///< r^T M^-1 r
    double kept_squared;    ///< |r|^2 of the kept solution; without one, first_kept |b|^2
    float alpha;            ///< of the last step
    float beta;             ///< of the next direction
    int stopped;            ///< the tolerance is reached, or no further step is possible
    int done;               ///< iterations
    int kept;               ///< iterations of the kept solution; -1: none
    int keep;               ///< the solution before the last step is to be kept
};

/// The state before an iteration, from that after the one before and the sums of its residual.
APERTURE_HD CgState begin_iteration(CgState state, double squared, double scaled_product,
                                    const CgLimits& limits) {
    state.keep = 0;
    if (state.stopped != 0) return state;
    state.beta = 0;
    if (state.done > 0) {
        state.beta = static_cast<float>(scaled_product / state.scaled_product);
        if (!(squared <= state.squared) && state.squared < worth_keeping * state.kept_squared) {
            state.keep = 1;
            state.kept = state.done - 1;
            state.kept_squared = state.squared;
        }
    }
    state.squared = squared;
    state.scaled_product = scaled_product;
    const bool diverged = state.kept >= 0 && !(squared <= impossible_growth * state.kept_squared);
    if (!(scaled_product > limits.products) || squared <= limits.squared || diverged) {
        state.stopped = 1;
    }
    return state;
}

/// Whether the kept solution replaces the last one.
APERTURE_HD bool returns_kept(const CgState& state) {
    return state.kept >= 0 && !(state.squared <= dropped_growth * state.kept_squared);
}

/// Recurrence of polynomials of a matrix B:
///
///     y_(k+1) = (B y_k - shift_k y_k - back_k y_(k-1)) / scale_k
struct Recurrence {
    std::vector<double> shift, back, scale;

    /// For a basis of `steps` steps and a B with eigenvalues in [0, largest]; all coefficients are
    /// proportional to `largest`.
    void assign(Basis basis, int steps, double largest);
};

/// A bound of the eigenvalues of M^-1 A: A = M - S, where S is the sum over the neighbours, and M +
/// S is positive semi-definite, too.
inline constexpr double largest_preconditioned = 2;
/// Without preconditioning: powers of A that estimate its largest eigenvalue, and the factor that
/// makes the estimate a bound.
inline constexpr int eigenvalue_powers = 12;
inline constexpr double eigenvalue_safety = 1.1;
/// The least bound, for an A of zero.
inline constexpr double least_bound = 1e-30;

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
    int iterated;  ///< iterations of the current round
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
        if (state.iterated > 0 && sums.residual < dependent_growth * state.least_squared) {
            state.current = 1 - state.current;
            state.done += state.iterated;
            state.replaced =
                sums.away > diverged_distance * diverged_distance * sums.scaled ? 1 : 0;
            state.restart = state.replaced != 0 && sums.residual > state.residual_squared ? 1 : 0;
            state.residual_squared = sums.residual;
            state.stalled =
                sums.residual < state.least_squared ? 0 : state.stalled + state.iterated;
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
    state.iterated = 0;
    if (!(state.residual_squared > 0) || state.residual_squared <= limits.squared ||
        state.done >= limits.iterations) {
        state.stopped = 1;
    }
    return state;
}

}  // namespace aperture::flow
