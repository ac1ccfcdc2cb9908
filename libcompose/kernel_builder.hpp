// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/compose/plan.hpp"
#include "libcompose/data_flow.hpp"

namespace aperture::compose {

/// Bytes of a problem's numbers.
index_t bytes_of_problem(const std::vector<OnChip>& numbers);

/// Collects calls until one cannot run in the same kernel: the one place that says which calls may
/// run together. Refers to the program.
class KernelBuilder {
  public:
    KernelBuilder(const Program& program, Fusion fusion) : program_(&program), fusion_(fusion) {}

    /// Whether a call may join. Threads of a kernel see what others wrote only after it.
    bool accepts(const PlannedCall& planned) const;
    void add(const PlannedCall& planned);
    bool empty() const { return kernel_.calls.empty(); }

    /// The kernel after which `live` is read; the builder is empty then.
    Kernel finish(const SymbolSet& live);

  private:
    bool comes_after_rows(const Call& call) const;
    bool accepts_lines(const PlannedCall& planned) const;
    bool exchanges(const SymbolSet& live) const;
    Type elements_of(const Call& call, const Match& match) const;
    std::vector<OnChip> on_chip_with(const PlannedCall& planned) const;

    const Program* program_;
    Fusion fusion_;
    Kernel kernel_;
    SymbolSet loaded_, written_, summed_, read_by_others_;
    SymbolSet of_rows_, after_rows_;  // sums of rows, and what depends on them
};

}  // namespace aperture::compose
