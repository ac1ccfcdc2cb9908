// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/residual.hpp"
#include "libflow/solver_model.hpp"

namespace aperture::flow {

/// Conjugate gradients, preconditioned by the inverse 2x2 blocks on request (Saad 2003, algorithm
/// 9.1). Sums run over rows in a fixed order, in double.
class ConjugateGradients {
  public:
    ConjugateGradients() = default;
    ConjugateGradients(core::Cpu& cpu, Shape shape, bool precondition);

    /// r = b - A x, p = M^-1 r, to continue until |r|^2 <= limit. `x` must have its margins set and
    /// receives the solution; the caller keeps it and the system.
    void start(const PreparedSystem& system, PaddedPlanes& x, double limit);
    /// `count` iterations, fewer if the limit is reached or no further step is possible.
    void advance(int count);
    /// Returns to the kept solution, and its iterations, where the last one is much worse.
    void finish();
    static constexpr bool in_one_kernel() { return false; }
    SolverProgress progress() const { return {state_.done, ended_}; }

  private:
    /// Returns false and leaves x unchanged if no further step is possible: the residual is zero
    /// or, by rounding, no direction remains.
    bool step();
    void next_direction();
    double multiply();
    void update(float alpha);

    core::Cpu* cpu_ = nullptr;
    const PreparedSystem* system_ = nullptr;
    PaddedPlanes* x_ = nullptr;
    Shape shape_;
    bool precondition_ = true;
    PaddedPlanes residual_;
    PaddedPlanes direction_;
    PaddedPlanes product_;  ///< A p
    PaddedPlanes scaled_;   ///< M^-1 r
    PaddedPlanes kept_;     ///< a solution before
    RowSums<2> sums_;
    PaddedPlanes zeros_;  ///< a row beyond the image
    CgLimits limits_{};
    CgState state_{};
    bool ended_ = false;           ///< advance() found no further step
    double residual_squared_ = 0;  ///< |r|^2 of the recurrence
    double scaled_product_ = 0;    ///< r^T M^-1 r
};

}  // namespace aperture::flow
