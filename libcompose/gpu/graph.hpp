// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "libcompose/gpu/device_memory.hpp"
#include "libcompose/gpu/gpu_kernels.hpp"
#include "libcompose/gpu/graph_owners.hpp"

namespace aperture::compose {

/// The placements of symbols that a plan of kernels and counted loops meets, the first with all at
/// home; that one alone if conditions decide, or loops are long.
std::vector<Placement> known_placements(const Plan& plan);

/// Loops of a plan.
int count_loops(const std::vector<Step>& steps);

/// A plan as one graph: loops and branches are decided on the device. The plan has no calls of
/// libraries.
class Graph {
  public:
    /// `placements` as of `known_placements`, which memory has, too.
    Graph(const Plan& plan, const GpuKernels& kernels, const DeviceMemory& memory,
          const std::vector<Placement>& placements);
    void launch(cudaStream_t stream) const;

  private:
    ReadyGraph graph_;
};

}  // namespace aperture::compose
