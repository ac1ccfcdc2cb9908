// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "libcompose/gpu/device_memory.hpp"
#include "libcompose/gpu/gpu_kernels.hpp"

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
    struct Destroy {
        void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
    };
    std::unique_ptr<CUgraphExec_st, Destroy> graph_;
};

}  // namespace aperture::compose
