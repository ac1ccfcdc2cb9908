// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/multigrid.hpp"

namespace aperture::flow {
namespace {

constexpr int smoothing_sweeps = 2;
/// Enough to solve for the few pixels of the coarsest level.
constexpr int coarsest_sweeps = 16;
constexpr index_t coarsest_extent = 2;

}  // namespace

Multigrid::Multigrid(core::Cpu& cpu, Shape shape) {
    levels_.emplace_back(cpu, shape);
    while (shape.rows > coarsest_extent || shape.columns > coarsest_extent) {
        shape = {(shape.rows + 1) / 2, (shape.columns + 1) / 2};
        levels_.emplace_back(cpu, shape);
    }
}

void Multigrid::start(const LinearSystem<core::Host>& system, ConstFlowView<core::Host> flow) {
    levels_.front().take(system);
    for (std::size_t l = 1; l < levels_.size(); ++l) levels_[l].take_coarsened(levels_[l - 1]);
    levels_.front().take_unknowns(flow);
    work_units_ = 0;
}

double Multigrid::share(std::size_t level) const {
    const auto pixels = [](Shape s) { return static_cast<double>(s.rows * s.columns); };
    return pixels(levels_[level].shape()) / pixels(levels_.front().shape());
}

void Multigrid::solve_coarsest() {
    levels_.back().sweep(coarsest_sweeps, 1.0F);
    work_units_ += coarsest_sweeps * share(levels_.size() - 1);
}

// Adds the coarser level's correction and smooths.
void Multigrid::correct(std::size_t level) {
    levels_[level].prolong_and_sweep(levels_[level + 1], smoothing_sweeps);
    work_units_ += smoothing_sweeps * share(level);
}

void Multigrid::cycle(std::size_t level) {
    if (level + 1 == levels_.size()) return solve_coarsest();
    levels_[level].sweep_and_restrict(smoothing_sweeps, levels_[level + 1]);
    work_units_ += (smoothing_sweeps + 1) * share(level);
    levels_[level + 1].clear_unknowns();
    cycle(level + 1);
    correct(level);
}

void Multigrid::full_cycle() {
    if (levels_.size() == 1) return solve_coarsest();
    levels_[0].sweep_and_restrict(0, levels_[1]);
    work_units_ += 1;
    for (std::size_t l = 1; l + 1 < levels_.size(); ++l) levels_[l].restrict_right(levels_[l + 1]);
    levels_.back().clear_unknowns();
    solve_coarsest();
    for (std::size_t l = levels_.size() - 1; l-- > 0;) {
        if (l > 0) levels_[l].clear_unknowns();
        // No sweeps here: the cycle smooths the correction.
        levels_[l].prolong_and_sweep(levels_[l + 1], 0);
        cycle(l);
    }
}

}  // namespace aperture::flow
