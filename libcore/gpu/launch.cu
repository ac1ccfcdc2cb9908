// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::core::detail {

namespace {

constexpr std::size_t shared_without_asking = 48 * 1024;

std::string kernel_name(const void* kernel) {
    const char* mangled = nullptr;
    if (cudaFuncGetName(&mangled, kernel) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return "unknown kernel";
    }
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
    return status == 0 ? readable.get() : mangled;
}

}  // namespace

void launch_on_gpu(Gpu& gpu, const void* kernel, const LaunchConfig& config, bool cooperative,
                   void** arguments) {
    cudaLaunchAttribute attributes[2]{};
    unsigned count = 0;
    if (cooperative) {
        attributes[count].id = cudaLaunchAttributeCooperative;
        attributes[count++].val.cooperative = 1;
    }
    if (config.start_early && gpu.compute_capability() >= 90) {
        attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    cudaLaunchConfig_t launch{};
    launch.gridDim = config.grid;
    launch.blockDim = config.block;
    launch.dynamicSmemBytes = config.shared;
    launch.stream = gpu.stream();
    launch.attrs = attributes;
    launch.numAttrs = count;
    const auto triple = [](const dim3& d) { return text("(", d.x, ", ", d.y, ", ", d.z, ")"); };
    const auto call = [&] {
        return text("launch of ", kernel_name(kernel), " with grid ", triple(config.grid),
                    ", block ", triple(config.block), ", shared ", config.shared, " bytes");
    };
    if (config.shared > static_cast<std::size_t>(gpu.shared_memory_per_block())) {
        throw_unfit(call().c_str(),
                    text(gpu.name(), " supports ", gpu.shared_memory_per_block(),
                         " bytes of shared memory per block"),
                    config.where);
    }
    cudaError_t status = cudaSuccess;
    if (config.shared > shared_without_asking) {
        status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(config.shared));
    }
    if (status == cudaSuccess) status = cudaLaunchKernelExC(&launch, kernel, arguments);
    if (status != cudaSuccess) check_status(status, call().c_str(), config.where);
}

}  // namespace aperture::core::detail
