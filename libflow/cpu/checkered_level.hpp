// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/prepared_system.hpp"
#include "libflow/cpu/reductions.hpp"
#include "libflow/cpu/split_planes.hpp"

namespace aperture::flow {

/// A system and its unknowns in checkered storage, one level of multigrid. Gauss-Seidel runs on the
/// 2x2 blocks of its pixels in two colours (four for Coupling::nine). No colour depends on itself,
/// so the result does not depend on the order within one or on the number of threads. Coarser
/// levels merge 2x2 pixels: tensors and residuals are averaged, alpha^2 is a quarter.
class CheckeredLevel {
  public:
    CheckeredLevel() = default;
    CheckeredLevel(core::Cpu& cpu, Shape shape);

    Shape shape() const { return shape_; }

    void take(const LinearSystem<core::Host>& system);
    void take_coarsened(const CheckeredLevel& fine);

    void take_unknowns(ConstFlowView<core::Host> flow);
    void give_unknowns(FlowView<core::Host> flow) const;
    void clear_unknowns();

    /// Sweeps over all colours, x += omega (D^-1 (S(x) + b) - x).
    void sweep(int count, float omega);
    /// Sweeps, then sets b of `coarse` to the average of the residual.
    void sweep_and_restrict(int count, CheckeredLevel& coarse);
    /// Sets b of `coarse` to the average of this level's.
    void restrict_right(CheckeredLevel& coarse) const;
    /// Adds the bilinearly interpolated unknowns of `coarse` to x, then sweeps.
    void prolong_and_sweep(const CheckeredLevel& coarse, int count);
    /// |b - A x|^2
    double residual_squared();

  private:
    struct Neighbours;
    template <Coupling coupling>
    struct Degree;

    template <class DoRow>
    void in_stages(int stages, const DoRow& do_row) const;
    template <class Row>
    void over_rows(const Row& row) const;
    template <Coupling coupling>
    void update_colour(int colour, index_t y, float omega);
    template <Coupling coupling>
    void update_row(index_t y, int parity, float omega);
    template <Coupling coupling>
    void residual_row(index_t y, int parity, float* to_u, float* to_v) const;
    void average_into(CheckeredLevel& coarse, const SplitPlanes& planes) const;
    float repeats(index_t y, index_t x) const;
    void prolong_row(const CheckeredLevel& coarse, index_t y);
    template <Coupling coupling>
    void invert_row(index_t y, int parity);
    Neighbours around(index_t unknown, int parity, index_t y) const;
    void set_unknown_margins(index_t y);

    core::Cpu* cpu_ = nullptr;
    Shape shape_;
    Boundary boundary_ = Boundary::replicate;
    Coupling coupling_ = Coupling::five;
    float smoothness_ = 1;
    SplitPlanes tensor_;
    SplitPlanes inverse_;
    SplitPlanes right_;
    SplitPlanes weights_;  ///< to the right and below; for Coupling::nine alpha^2 repeats()
    SplitPlanes unknowns_;
    SplitPlanes residual_;  ///< also interpolated rows of a coarser level
    RowSums<1> sums_;
    ZeroRow zeros_;
};

}  // namespace aperture::flow
