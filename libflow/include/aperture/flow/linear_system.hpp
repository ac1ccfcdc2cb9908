// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/flow/field.hpp"

namespace aperture::flow {

/// Values outside the image: the nearest pixel (no flux across the border) or zero.
enum class Boundary { replicate, zero };

/// The Laplacian: four neighbours, or Horn & Schunck's eight (1981, section 8: weight 1/2 for the
/// four, 1/4 for the diagonal ones, 3 for the centre).
enum class Stencil { five, nine };

enum class Solver {
    jacobi,     ///< diagonal scaling only
    block2x2,   ///< Horn & Schunck's iteration: the two unknowns of a pixel are solved together
    cg,         ///< conjugate gradients, preconditioned by the inverse 2x2 blocks by default
    cacg,       ///< the same, s iterations per global reduction (Carson 2015); see solver_on
    redblack,   ///< Gauss-Seidel on the 2x2 blocks, two colours (four for Stencil::nine), SOR
    multigrid,  ///< full multigrid, then V(2,2)-cycles, red-black smoothing
};

/// Kernel organisation on a GPU; results agree to rounding. On a Cpu it has no effect.
/// Solver::multigrid and Solver::cacg, unless replaced (see solver_on), have one organisation only.
/// An Estimator applies it to its other stages, too.
enum class Implementation {
    fused,   ///< as much as fits in a kernel, up to all iterations with the system on chip
    staged,  ///< a kernel for each operator, as in Anderson's listings
};

/// Polynomial basis of the Krylov space in Solver::cacg.
enum class Basis { monomial, newton, chebyshev };

/// The coupled system of a variational flow for x = (u, v), at every pixel p
///
///     J_p x_p + alpha^2 sum_q w_pq (x_p - x_q) = b_p
///
/// over the neighbours q of the stencil. J is symmetric positive semi-definite, so is the whole
/// system; it may be singular (constant or striped images with Boundary::replicate).
/// Source: Horn & Schunck 1981, equations 9 and 10; Anderson 2014, section 7.2.
template <class Space>
struct LinearSystem {
    core::View<const float, 3, Space> tensor;  ///< [3][row][column]: J11, J12 = J21, J22
    core::View<const float, 3, Space> right;   ///< b [2][row][column]
    /// w [2][row][column] >= 0: the weights between a pixel and its right and its lower neighbour.
    /// Empty: the stencil's. Needs Stencil::five and Boundary::replicate.
    core::View<const float, 3, Space> coupling;
    float smoothness = 1;  ///< alpha^2 > 0, finite
    Boundary boundary = Boundary::replicate;
    Stencil stencil = Stencil::five;
};

struct SolverParameters {
    Solver solver = Solver::multigrid;
    int iterations = 100;  ///< maximum; multigrid: one full cycle, then V-cycles
    /// Stops at |b - A x| <= tolerance |b|; 0: never. Rounding may keep the residual above it:
    /// 1e-7 |b| is about the least in fp32, and more for a large alpha^2. Solver::cg and
    /// Solver::cacg then end by themselves or at `iterations`, with about the best solution they
    /// had.
    double tolerance = 0;
    double relaxation = 1;     ///< redblack: omega of SOR in (0, 2)
    bool precondition = true;  ///< cg and cacg: by the inverse 2x2 blocks
    int s_step = 4;            ///< cacg: 1 to 16; Basis::monomial is accurate up to about 4
    Basis basis = Basis::newton;
    Implementation implementation = Implementation::fused;

    bool operator==(const SolverParameters&) const = default;
};

/// Throws core::InvalidArgument for values out of range.
void validate(const SolverParameters& parameters);

/// Cost of a solution.
struct SolveResult {
    int iterations = 0;
    /// Sweeps or products with A on the whole image; coarser grids count by their share of pixels.
    double work_units = 0;
};

/// The solver that a SystemSolver of a Gpu runs: the parameters', except that Solver::cg takes the
/// place of Solver::cacg where the basis of s_step iterations on the image does not fit the
/// multiprocessors' shared memory. Their iterates are the same but for rounding.
Solver solver_on(const core::Gpu& gpu, Shape shape, const SolverParameters& parameters);

/// Solves systems of one shape. Holds the workspace: a second call allocates nothing. The result is
/// bitwise independent of the number of threads.
template <class Executor>
class SystemSolver {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument for an empty shape or parameters out of range.
    SystemSolver(Executor& executor, Shape shape, const SolverParameters& parameters);

    /// `flow` is the initial value and receives the solution. A singular system with a zero start
    /// has the solution of minimum norm. `residuals`, if not null, is extended by |b - A x| / |b|
    /// of the start and of every iteration (|b| = 0 counts as 1), up to the one whose solution is
    /// returned. This costs a product an iteration; Solver::cacg appends the norms of its
    /// recurrence instead. Views must not overlap. On a Gpu the call is asynchronous, and reports
    /// the requested iterations, unless there is a tolerance, `residuals` is not null, or the
    /// solver is Solver::cacg with Basis::monomial and an s_step above 4. Throws
    /// core::InvalidArgument if the views do not fit.
    SolveResult solve(const LinearSystem<Space>& system, FlowView<Space> flow,
                      std::vector<double>* residuals = nullptr);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class SystemSolver<core::Cpu>;

/// |b - A x| and |b|, Euclidean over both unknowns of all pixels, summed in double. Synchronises.
/// Throws core::InvalidArgument if the views do not fit each other.
struct ResidualNorms {
    double residual = 0;
    double right = 0;
};
ResidualNorms residual_norms(core::Cpu& cpu, const LinearSystem<core::Host>& system,
                             ConstFlowView<core::Host> flow);
ResidualNorms residual_norms(core::Gpu& gpu, const LinearSystem<core::Device>& system,
                             ConstFlowView<core::Device> flow);

}  // namespace aperture::flow
