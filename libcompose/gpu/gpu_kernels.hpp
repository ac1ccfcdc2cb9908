// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "aperture/compose/plan.hpp"
#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "libcompose/kernels/arguments.hpp"

namespace aperture::compose {

/// The machine code of a plan's kernels.
class GpuKernels {
  public:
    /// Throws InvalidArgument if kernels cannot be compiled at run time.
    GpuKernels(core::Gpu& gpu, const Plan& plan);

    /// Submits a kernel that reads and writes the symbols of a row.
    void launch(cudaStream_t stream, const Kernel& kernel, void* const* row) const;

  private:
    /// Throws InvalidArgument if a block cannot have as much as a kernel of batches needs.
    void allow_shared_memory(core::Gpu& gpu, const Kernel& kernel) const;

    std::vector<const void*> elements_, finish_;  // by kernels' numbers; null where there is none
    core::Array<kernels::SumNumber, 1, core::Device> sums_;
};

}  // namespace aperture::compose
