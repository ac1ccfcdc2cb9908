// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "libflow/cpu/reductions.hpp"

namespace aperture::flow {

/// The constant flows that a system does not determine: if all gradients of an image have one
/// direction, or none at all, and the borders are replicated. Such a flow grows in solvers that
/// weight pixels differently. Resetting it to its start value makes the solution from a zero start
/// that of minimum norm.
class FreeFlow {
  public:
    FreeFlow() = default;
    explicit FreeFlow(Shape shape) : tensor_sums_(shape), flow_sums_(shape) {}

    /// Finds the free directions and the component of `flow` along them.
    void load(core::Cpu& cpu, const LinearSystem<core::Host>& system,
              ConstFlowView<core::Host> flow);
    void restore(core::Cpu& cpu, FlowView<core::Host> flow);

  private:
    using Direction = std::array<double, 2>;

    Direction mean(core::Cpu& cpu, ConstFlowView<core::Host> flow);

    RowSums<3> tensor_sums_;
    RowSums<2> flow_sums_;
    int count_ = 0;  ///< number of free directions
    std::array<Direction, 2> directions_{};
    Direction start_{};
};

}  // namespace aperture::flow
