// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// ceilings [THREADS]: prints the ceilings of this machine's cores and of its GPU, if there is one,
// as one "name value" per line.
#include <cstdlib>
#include <iostream>

#include "aperture/core/executor.hpp"
#include "bench/ceilings.hpp"
#if APERTURE_CUDA
#include "bench/gpu_ceilings.hpp"
#endif

int main(int argc, char** argv) {
    using namespace aperture;
    const core::Cpu cpu(argc > 1 ? std::atoi(argv[1]) : 0);
    std::cout << "threads " << cpu.threads() << '\n'
              << "fp32_gflops " << bench::fma_peak_gflops<float>(cpu.threads()) << '\n'
              << "fp64_gflops " << bench::fma_peak_gflops<double>(cpu.threads()) << '\n'
              << "copy_gbs " << bench::copy_bandwidth_gbs(cpu.threads()) << '\n';
#if APERTURE_CUDA
    if (core::gpu_status().usable) {
        core::Gpu gpu;
        std::cout << "gpu_fp32_gflops " << bench::gpu_peak_gflops(gpu, bench::GpuUnit::fp32) << '\n'
                  << "gpu_copy_gbs " << bench::gpu_copy_gbs(gpu) << '\n';
    }
#endif
    return 0;
}
