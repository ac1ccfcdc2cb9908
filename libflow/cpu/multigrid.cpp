// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/multigrid.hpp"

namespace aperture::flow {

Multigrid::Multigrid(core::Cpu& cpu, Shape shape) {
    levels_.emplace_back(cpu, shape);
    while (!is_coarsest(shape)) {
        shape = halved(shape);
        levels_.emplace_back(cpu, shape);
    }
}

void Multigrid::start(const LinearSystem<core::Host>& system, ConstFlowView<core::Host> flow) {
    levels_.front().load_system(system);
    for (std::size_t l = 1; l < levels_.size(); ++l) levels_[l].coarsen(levels_[l - 1]);
    levels_.front().load_unknowns(flow);
    work_units_ = 0;
    cycles_ = 0;
}

double Multigrid::share(std::size_t level) const {
    const auto pixels = [](Shape s) { return static_cast<double>(s.rows * s.columns); };
    return pixels(levels_[level].shape()) / pixels(levels_.front().shape());
}

void Multigrid::solve_coarsest() {
    levels_.back().relax({.sweeps = 1});
    work_units_ += share(levels_.size() - 1);
}

void Multigrid::cycle(std::size_t level, float corrected) {
    if (level + 1 == levels_.size()) return solve_coarsest();
    levels_[level].relax({.sweeps = smoothing_sweeps, .restricted = &levels_[level + 1]});
    levels_[level + 1].clear_unknowns();
    cycle(level + 1);
    levels_[level].relax(
        {.prolonged = &levels_[level + 1], .share = corrected, .sweeps = smoothing_sweeps});
    work_units_ += (2 * smoothing_sweeps + 1) * share(level);
}

void Multigrid::full_cycle() {
    if (levels_.size() == 1) return solve_coarsest();
    levels_[0].relax({.restricted = &levels_[1]});
    work_units_ += 1;
    for (std::size_t l = 1; l + 1 < levels_.size(); ++l) levels_[l].restrict_right(levels_[l + 1]);
    levels_.back().clear_unknowns();
    solve_coarsest();
    for (std::size_t l = levels_.size() - 1; l-- > 0;) {
        if (l > 0) levels_[l].clear_unknowns();
        // No sweeps here: the cycle smooths the correction.
        levels_[l].relax({.prolonged = &levels_[l + 1]});
        cycle(l);
    }
}

}  // namespace aperture::flow
