// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "libflow/cpu/residual.hpp"
#include "libflow/solver_model.hpp"

namespace aperture::flow {

/// Conjugate gradients, s iterations at a time (Carson 2015, algorithm 7; Hoemmen 2010): a basis Y
/// of the space of s iterations, [p, B p, ..., B^s p, z, ..., B^(s-1) z] in polynomials of B = M^-1
/// A; its Gram matrix G = Y^T M Y in one pass; then s iterations on 2 s + 1 coordinates, in double.
/// M are the 2x2 blocks, or the identity. With z = M^-1 r this is preconditioned CG: B is
/// self-adjoint in the inner product of M.
///
/// The true residual is computed after every s iterations. It replaces the recurrence's once they
/// have diverged (van der Vorst & Ye 2000); the direction stays, as in CG with residual
/// replacement, until the residual no longer falls. If the residual exceeds any that CG can have,
/// the step is undone and repeated with half the s.
class CommunicationAvoidingCg {
  public:
    CommunicationAvoidingCg() = default;
    CommunicationAvoidingCg(core::Cpu& cpu, Shape shape, const SolverParameters& parameters);

    /// Starts from `x`, which must have its margins set, to continue until |b - A x|^2 <= limit.
    /// Keeps |r|^2 of every iteration if `with_history`. `x` receives the solution; the caller
    /// keeps it and the system.
    void start(const PreparedSystem& system, PaddedPlanes& x, double limit, bool with_history);
    /// Runs `rounds` rounds of at most s iterations, fewer if the end is reached.
    void advance(int rounds);
    SolverProgress progress() const { return {state_.done, state_.stopped != 0, state_.products}; }
    /// |r| of the start, then the recurrence's of all iterations, relative to `right`.
    void append_history(double right, std::vector<double>& residuals) const;

  private:
    using Coordinates = std::vector<double>;

    double largest_eigenvalue();
    void build(index_t first, int degree);
    void compute_gram();
    /// Coordinates of B y from those of y; the entries of y for the highest powers are zero.
    void multiply(const Coordinates& of, Coordinates& result) const;
    double product(const std::vector<double>& gram, const Coordinates& a,
                   const Coordinates& b) const;
    void run_round();
    int iterate(int most);
    void combine();
    /// Stores z = M^-1 (b - A x) in scaled_; `away` is the distance from `expected`.
    RoundSums true_residual(const PaddedPlanes* expected);
    index_t vectors() const { return 2 * state_.steps + 1; }

    core::Cpu* cpu_ = nullptr;
    const PreparedSystem* system_ = nullptr;
    PaddedPlanes* solution_ = nullptr;  ///< x
    Shape shape_;
    SolverParameters parameters_;
    CaLimits limits_{};
    CaState state_{};
    Recurrence recurrence_;
    std::vector<PaddedPlanes> basis_;  ///< s + 1 vectors from p, then s from z
    PaddedPlanes direction_;           ///< p
    PaddedPlanes scaled_;              ///< z
    PaddedPlanes recurred_;            ///< z of the recurrence
    PaddedPlanes before_;              ///< x before the last s iterations
    core::Array<double, 2> row_sums_;  ///< of the Gram matrices, for each row of the image
    std::vector<double> gram_;         ///< Y^T M Y
    std::vector<double> norms_;        ///< Y^T M^2 Y
    Coordinates x_, z_, p_;
    Coordinates product_;  ///< B p
    RowSums<3> residual_sums_;
    PaddedPlanes zeros_;  ///< a row beyond the image
    bool with_history_ = false;
    std::vector<double> history_;
};

}  // namespace aperture::flow
