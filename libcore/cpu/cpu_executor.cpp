// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <atomic>
#include <fstream>

#include "aperture/core/executor.hpp"
#include "libcore/cpu/simd.hpp"

namespace aperture::core {

namespace {

std::string processor_name() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);) {
        if (!line.starts_with("model name")) continue;
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    return "CPU";
}

constexpr const char* instruction_set() {
    switch (simd_bytes) {
        case 64:
            return "AVX-512";
        case 32:
#if defined(__AVX2__)
            return "AVX2";
#else
            return "AVX";
#endif
        default:
            return "128-bit SIMD";
    }
}

}  // namespace

Cpu::Cpu(int threads) : threads_(threads == 0 ? omp_get_max_threads() : threads) {
    expects(threads >= 0, "number of threads is ", threads,
            ", expected 0 (OpenMP's default) or more");
    scratch_.resize(static_cast<std::size_t>(threads_));
}

std::string Cpu::name() const {
    return text(processor_name(), ", ", threads_, threads_ == 1 ? " thread, " : " threads, ",
                instruction_set());
}

void share_processors() {
    // A second thread for this one, which stays idle, since OpenMP counts its own threads alone.
    std::atomic<int> threads = 0;
#pragma omp parallel num_threads(2)
    ++threads;
}

std::byte* Cpu::scratch(int thread, std::size_t bytes) {
    auto& block = scratch_.at(static_cast<std::size_t>(thread));
    if (static_cast<std::size_t>(block.size()) < bytes) {
        block.reshape({static_cast<index_t>(bytes)});
    }
    return block.data();
}

}  // namespace aperture::core
