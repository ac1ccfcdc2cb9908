// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// ceilings [THREADS]: what this machine's cores can do at most, one "name value" a line.
#include <cstdlib>
#include <iostream>

#include "aperture/core/executor.hpp"
#include "bench/ceilings.hpp"

int main(int argc, char** argv) {
    using namespace aperture;
    const core::Cpu cpu(argc > 1 ? std::atoi(argv[1]) : 0);
    std::cout << "threads " << cpu.threads() << '\n'
              << "fp32_gflops " << bench::fma_peak_gflops<float>(cpu.threads()) << '\n'
              << "fp64_gflops " << bench::fma_peak_gflops<double>(cpu.threads()) << '\n'
              << "copy_gbs " << bench::copy_bandwidth_gbs(cpu.threads()) << '\n';
    return 0;
}
