// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

/// Ceilings of a GPU, measured in the same run as the benchmarks that quote them.
namespace aperture::bench {

/// The unit that multiplies and adds.
enum class GpuUnit {
    fp32,  ///< fused multiply-adds
    fp64,
    tf32,  ///< tensor cores as used by warps: mma.sync m16n8k8
};

/// Register-only arithmetic that keeps one kind of unit of a whole GPU busy.
class GpuCeiling {
  public:
    GpuCeiling(core::Gpu& gpu, GpuUnit unit);

    /// Asynchronous.
    void run();
    /// Multiplications and additions of a run.
    double flops() const;

  private:
    int blocks() const;

    core::Gpu& gpu_;
    GpuUnit unit_;
    core::Array<double, 1, core::Device> results_;
};

/// GFLOP/s, the best of several runs; cached.
double gpu_peak_gflops(core::Gpu& gpu, GpuUnit unit);

/// GB/s of copies in device memory far larger than the caches, reads plus writes, the best of
/// several runs; cached.
double gpu_copy_gbs(core::Gpu& gpu);

}  // namespace aperture::bench
