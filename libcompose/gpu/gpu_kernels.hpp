// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <span>
#include <vector>

#include "aperture/compose/plan.hpp"
#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "libcompose/loops.hpp"

namespace aperture::compose {

/// The machine code of a plan's kernels.
class GpuKernels {
  public:
    /// For at most so many values at a time. Throws InvalidArgument if kernels cannot be compiled
    /// at run time.
    GpuKernels(core::Gpu& gpu, const Plan& plan, int values = 1);

    /// Submits a kernel that reads and writes the symbols of a row, or of one for each value.
    void launch(cudaStream_t stream, const Kernel& kernel, void* const* row) const {
        launch(stream, kernel, std::span(&row, 1));
    }
    void launch(cudaStream_t stream, const Kernel& kernel,
                std::span<void* const* const> rows) const;

    /// Whether a loop that the plan has as one kernel can be one here.
    bool has(const LoopStep& loop) const { return loops_.count(loop.number) > 0; }
    /// Submits such a loop, which changes the row where symbols exchange memory. `*unended` becomes
    /// true if a loop reaches its limit.
    void launch(cudaStream_t stream, const LoopStep& loop, void** row, int* unended) const;

  private:
    /// Throws InvalidArgument if a block cannot have as much as a kernel of batches needs.
    void allow_shared_memory(core::Gpu& gpu, const Kernel& kernel) const;
    void add_loop(core::Gpu& gpu, const Program& program, const LoopStep& loop,
                  const void* function);

    std::vector<const void*> elements_, finish_;  // by kernels' numbers; null where there is none
    struct LoopKernel {
        const void* function;
        LaunchShape shape;
    };
    std::map<int, LoopKernel> loops_;  // by their numbers
    core::Array<unsigned long long, 1, core::Device> arrivals_;
    core::Array<kernels::SumNumber, 1, core::Device> sums_;  // after blocks_done, of all values
    int values_;
    index_t most_sums_ = 0;  // of a value
};

}  // namespace aperture::compose
