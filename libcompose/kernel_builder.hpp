// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/compose/plan.hpp"
#include "libcompose/data_flow.hpp"
#include "libcompose/line_calls.hpp"
#include "libcompose/tiles.hpp"

namespace aperture::compose {

/// Bytes of a problem's numbers.
index_t bytes_of_problem(const std::vector<OnChip>& numbers);

/// Collects calls until one cannot run in the same kernel: the one place that says which calls may
/// run together. Refers to the program.
class KernelBuilder {
  public:
    /// `lines_may_follow`: whether calls are accepted that can run in one kernel only with sums of
    /// rows or columns that are not there yet. `tiles_from`: the bytes of images from which on
    /// Fusion::planned may have neighbours read them in the kernel that makes them.
    KernelBuilder(const Program& program, Fusion fusion, bool lines_may_follow = false,
                  double tiles_from = 0)
        : program_(&program),
          fusion_(fusion),
          lines_may_follow_(lines_may_follow),
          tiles_from_(tiles_from) {}

    /// Whether a call may join. Threads of a kernel see what others wrote only after it, but for
    /// tiles, of which is_whole() decides.
    bool accepts(const PlannedCall& planned) const;
    void add(const PlannedCall& planned);
    bool empty() const { return kernel_.calls.empty(); }
    /// Whether none of these are missing, and all tiles can be made.
    bool is_whole() const {
        return !lacks_totals_ && (!has_several_extents_ || is_of_rows(kernel_)) &&
               (fusion_ != Fusion::planned || tiles_fit(kernel_));
    }

    /// The kernel after which `live` is read; the builder is empty then.
    Kernel finish(const SymbolSet& live);

  private:
    bool may_be_tile(SymbolId id, const Access& access) const;
    bool lacks_total(SymbolId id, const Access& access) const;
    bool comes_after_rows(const PlannedCall& planned) const;
    bool accepts_extents(const PlannedCall& planned) const;
    bool accepts_lines(const PlannedCall& planned) const;
    bool exchanges(const SymbolSet& live) const;
    Type elements_of(const Call& call, const Match& match) const;
    std::vector<OnChip> on_chip_with(const PlannedCall& planned) const;

    const Program* program_;
    Fusion fusion_;
    bool lines_may_follow_;
    double tiles_from_;
    Kernel kernel_;
    bool has_several_extents_ = false;
    bool lacks_totals_ = false;  // An image's row reads a vector that no sums of rows determine.
    SymbolSet loaded_, written_, summed_, read_by_others_;
    // Sums of rows and vectors that are computed of them, and the images that depend on these.
    SymbolSet of_rows_, after_rows_;
};

}  // namespace aperture::compose
