// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/flow/linear_system.hpp"

namespace aperture::bench {

/// Two images and the flow from one to the other.
struct FlowPair {
    core::Array<float, 2> image0;
    core::Array<float, 2> image1;
    core::Array<float, 3> truth;
};

/// A texture of waves of 8 to 60 pixels that moves smoothly by 1 to 5 pixels.
FlowPair textured_pair(core::Cpu& cpu, flow::Shape shape);

/// The Horn-Schunck system of the finest level, linearised about zero motion.
class FlowSystem {
  public:
    FlowSystem(core::Cpu& cpu, const core::Array<float, 2>& image0,
               const core::Array<float, 2>& image1, double alpha);

    flow::Shape shape() const { return {terms_.extent()[1], terms_.extent()[2]}; }
    flow::LinearSystem<core::Host> system() const { return over(terms_.view()); }
    /// The planes J11, J12, J22 and both right-hand sides.
    const core::Array<float, 3>& terms() const { return terms_; }
    /// The same system with its planes in another memory.
    template <class Space>
    flow::LinearSystem<Space> over(core::View<const float, 3, Space> terms) const {
        flow::LinearSystem<Space> system;
        system.tensor = terms.slice(0, 0, 3);
        system.right = terms.slice(0, 3, 5);
        system.smoothness = smoothness_;
        return system;
    }

  private:
    core::Array<float, 3> terms_;
    float smoothness_;
};

}  // namespace aperture::bench
