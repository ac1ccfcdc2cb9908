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
    std::array<double, 2> sum(core::Cpu& cpu, ConstFlowView<core::Host> flow);

    RowSums<3> tensor_sums_;
    RowSums<2> flow_sums_;
    bool is_free_ = false;            ///< there are free directions
    std::array<double, 3> tensor_{};  ///< summed J11, J12, J22
    std::array<double, 2> start_{};   ///< the sums of the start
};

}  // namespace aperture::flow
