// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/compose/sweep.hpp"

namespace aperture::compose {

/// A program widened for values that go their own ways, on one thread of a CPU.
class LaneRuns {
  public:
    /// `plan`: of such a program, for `lanes` values.
    LaneRuns(core::Cpu& cpu, Plan plan, index_t lanes, Tier tier);

    struct Run {
        std::vector<index_t> values;  ///< numbers of those in the places of results
        std::vector<FailedValue> failed;
    };
    /// Runs for the first `count` values. Those of `own` arguments are put in another order.
    Run run(core::Cpu& cpu, const Arguments& arguments, std::span<const Argument> results,
            std::span<const std::string> own, index_t count);

  private:
    Executable<core::Cpu> executable_;
    index_t lanes_;
};

}  // namespace aperture::compose
