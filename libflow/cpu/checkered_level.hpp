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

    /// What a pass over the image does, in this order.
    struct Pass {
        const CheckeredLevel* prolonged = nullptr;  ///< adds its unknowns, interpolated, to x
        float share = 1;                            ///< of them
        int sweeps = 0;  ///< over all colours, x += omega (D^-1 (S(x) + b) - x)
        float omega = 1;
        CheckeredLevel* restricted = nullptr;  ///< its b becomes the average of the residual
    };

    void load_system(const LinearSystem<core::Host>& system);
    /// Computes the system from that of the next finer level.
    void coarsen(const CheckeredLevel& fine);

    void load_unknowns(ConstFlowView<core::Host> flow);
    void store_unknowns(FlowView<core::Host> flow) const;
    void clear_unknowns();

    void relax(const Pass& pass);
    /// Sets b of `coarse` to the average of this level's.
    void restrict_right(CheckeredLevel& coarse) const { average_into(coarse, right_); }
    /// |b - A x|^2
    double residual_squared();

  private:
    struct Neighbours;
    struct EdgeWeights;
    template <Coupling coupling>
    struct Degree;
    template <Coupling coupling>
    struct Sum;

    template <class DoRow>
    void in_stages(int stages, const DoRow& do_row) const;
    template <class DoRow>
    void over_rows(const DoRow& do_row) const;
    template <class LoadRow>
    void prepare(const LoadRow& load_row);
    template <Coupling coupling>
    void update_colour(int colour, index_t y, float omega);
    template <Coupling coupling>
    void update_row(index_t y, int parity, float omega);
    template <Coupling coupling>
    void compute_residual(index_t y, int parity);
    void average_row(const SplitPlanes& planes, index_t plane, index_t y, SplitPlanes& to) const;
    void average_into(CheckeredLevel& coarse, const SplitPlanes& planes) const;
    float repeats(index_t y, index_t x) const;
    float degree_of(index_t y, index_t x) const;
    void prolong_row(const CheckeredLevel& coarse, float share, index_t y);
    template <Coupling coupling>
    void invert_row(index_t y, int parity);
    Neighbours around(index_t unknown, int parity, index_t y) const;
    template <Coupling coupling>
    EdgeWeights weights_around(int parity, index_t y) const;
    void set_unknown_margins(index_t y);
    /// Packs of pixels of one parity of a row end before this index.
    index_t end_of(int parity) const { return (shape_.columns - parity + 1) / 2; }

    core::Cpu* cpu_ = nullptr;
    Shape shape_;
    Boundary boundary_ = Boundary::replicate;
    Coupling coupling_ = Coupling::five;
    float smoothness_ = 1;
    BorderWeights border_;
    float hidden_ = 0;  ///< see hidden_tensor
    SplitPlanes tensor_;
    SplitPlanes inverse_;
    SplitPlanes right_;
    SplitPlanes weights_;  ///< to the right and below; for Coupling::nine alpha^2 repeats()
    SplitPlanes unknowns_;
    SplitPlanes residual_;  ///< also interpolated rows of a coarser level
    RowSums<1> sums_;
    PaddedPlanes zeros_;  ///< a row beyond the image
};

}  // namespace aperture::flow
