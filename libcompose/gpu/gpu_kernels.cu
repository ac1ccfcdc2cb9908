// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "libcompose/gpu/gpu_kernels.hpp"
#include "libcompose/kernel_groups.hpp"
#include "libcompose/operations/text_operation.hpp"
#include "libcompose/search.hpp"
#include "libcore/gpu/compile_kernel.hpp"
#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/specialise.hpp"

namespace aperture::compose {

namespace {

using MachineCode = std::vector<core::SpecialisedKernel<void(kernels::KernelArguments)>>;

/// Of the functions of a group. Thread-safe.
MachineCode machine_code(core::Gpu& gpu, const Plan& plan, const KernelGroup& group) {
    // Not gpu.stream(), which other threads may not call.
    APERTURE_CUDA_TRY(cudaSetDevice(gpu.device()));
    MachineCode code = core::specialise<void(kernels::KernelArguments)>(
        gpu, {"compose", included_texts(plan), group.text, {"--fmad=false"}}, group.functions);
    core::expects(!code.empty(),
                  "array programs need CUDA's run-time compiler on a GPU; libnvrtc is not there");
    return code;
}

std::vector<std::vector<KernelPlace>> compiled(core::Gpu& gpu, std::span<const Plan> plans) {
    try {
        return compile_groups(plans, Target::device, [&](const KernelGroup& group) {
            machine_code(gpu, plans.front(), group);
            return true;
        });
    } catch (const core::CompileError& error) {
        refuse_text(plans.front(), error);
    }
}

}  // namespace

void compile(core::Gpu& gpu, std::span<const Plan> plans, Tier) { compiled(gpu, plans); }

GpuKernels::GpuKernels(core::Gpu& gpu, const Plan& plan) {
    const std::vector<const Kernel*> all = plan.kernels();
    elements_.resize(all.size());
    finish_.resize(all.size());
    index_t most_sums = 0;
    for (const Kernel* kernel : all) {
        if (!is_generated(*kernel)) continue;
        most_sums = std::max(most_sums, sums_of(*kernel, Target::device));
    }
    gpu.stream();  // Arrays are on the GPU that the thread used last.
    sums_ = core::Array<kernels::SumNumber, 1, core::Device>({most_sums});
    const auto places = compiled(gpu, {&plan, 1});
    for (const Kernel* kernel : all) {
        if (!is_generated(*kernel)) continue;
        const auto number = static_cast<std::size_t>(kernel->number);
        const auto& [group, place] = places.front()[number];
        const MachineCode code = machine_code(gpu, plan, *group);
        const auto function = [&, &group = group, place = place](const char* name) {
            const auto& names = group->functions;
            const auto found = std::find(names.begin(), names.end(), function_name(name, place));
            return code[static_cast<std::size_t>(found - names.begin())].kernel;
        };
        elements_[number] = function("elements");
        if (has_finish(*kernel)) finish_[number] = function("finish");
        allow_shared_memory(gpu, *kernel);
    }
}

void GpuKernels::allow_shared_memory(core::Gpu& gpu, const Kernel& kernel) const {
    const index_t bytes = launch_of(kernel).shared_bytes;
    core::expects(bytes <= gpu.shared_memory_per_block(), kernel.calls.front().call->operation,
                  " needs ", bytes, " bytes on chip a problem; ", gpu.name(), " has ",
                  gpu.shared_memory_per_block());
    if (bytes <= most_bytes_on_chip) return;
    APERTURE_CUDA_TRY(cudaFuncSetAttribute(elements_[static_cast<std::size_t>(kernel.number)],
                                           cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(bytes)));
}

void GpuKernels::launch(cudaStream_t stream, const Kernel& kernel, void* const* row) const {
    const auto number = static_cast<std::size_t>(kernel.number);
    kernels::KernelArguments arguments{row, walk_over(kernel.elements),
                                       const_cast<kernels::SumNumber*>(sums_.data())};
    const auto launch = [&](const void* function, const LaunchShape& shape) {
        void* pointers[] = {&arguments};
        cudaLaunchConfig_t config{};
        config.gridDim = {shape.grid_x, shape.grid_y, 1};
        config.blockDim = {shape.block_x, shape.block_y, 1};
        config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
        config.stream = stream;
        APERTURE_CUDA_TRY(cudaLaunchKernelExC(&config, function, pointers));
    };
    launch(elements_[number], launch_of(kernel));
    if (finish_[number] != nullptr) launch(finish_[number], finish_of(kernel));
}

}  // namespace aperture::compose
