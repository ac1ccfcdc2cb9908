// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/corr_tiles.cuh"
#include "bench/corr_tiles.hpp"

namespace aperture::bench {

std::vector<SlowerKernel> slower_kernels() {
    std::vector<SlowerKernel> kernels;
    for_slower_kernels([&]<class Walk>(const char* name, corr::Precision precision, auto kernel) {
        const auto prepare = [=](core::Gpu& gpu, const corr::Problem& problem) -> GpuCorrelation {
            const auto correlator =
                std::make_shared<KernelCorrelator<core::Gpu, Walk>>(gpu, problem, kernel);
            return [correlator](auto planes, auto sums) { correlator->run(planes, planes, sums); };
        };
        kernels.push_back({name, precision, prepare});
    });
    return kernels;
}

}  // namespace aperture::bench
