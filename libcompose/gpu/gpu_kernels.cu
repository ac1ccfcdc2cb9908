// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "libcompose/gpu/gpu_kernels.hpp"
#include "libcompose/kernel_groups.hpp"
#include "libcompose/operations/text_operation.hpp"
#include "libcompose/search.hpp"
#include "libcore/gpu/compile_kernel.hpp"
#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/occupancy.hpp"
#include "libcore/gpu/specialise.hpp"

namespace aperture::compose {

namespace {

/// Machine code of the kernels of plans.
struct DeviceCode {
    using Functions = std::vector<core::SpecialisedKernel<void(kernels::GridArguments)>>;

    std::vector<std::vector<KernelPlace>> places;
    std::map<const KernelGroup*, Functions> functions;
};
DeviceCode compiled(core::Gpu& gpu, std::span<const Plan> plans) {
    const auto texts = included_texts(plans.front());
    DeviceCode code;
    std::mutex mutex;
    try {
        code.places = compile_groups(plans, Target::device, [&](const KernelGroup& group) {
            // Not gpu.stream(), which other threads may not call.
            APERTURE_CUDA_TRY(cudaSetDevice(gpu.device()));
            auto functions = core::specialise<void(kernels::GridArguments)>(
                gpu, {"compose", texts, group.text, {"--fmad=false"}}, group.functions);
            core::expects(!functions.empty(),
                          "array programs need CUDA's run-time compiler on a GPU; libnvrtc is not "
                          "there");
            const std::scoped_lock lock(mutex);
            code.functions[&group] = std::move(functions);
            return true;
        });
    } catch (const core::CompileError& error) {
        refuse_text(plans.front(), error);
    }
    return code;
}

}  // namespace

void compile(core::Gpu& gpu, std::span<const Plan> plans, Tier) { compiled(gpu, plans); }

GpuKernels::GpuKernels(core::Gpu& gpu, const Plan& plan, int values) : values_(values) {
    const std::vector<const Kernel*> all = plan.kernels();
    elements_.resize(all.size());
    finish_.resize(all.size());
    for (const Kernel* kernel : all) {
        if (!is_generated(*kernel)) continue;
        most_sums_ = std::max(most_sums_, sums_of(*kernel, Target::device));
    }
    const std::vector<const Step*> loops = loops_in_one_kernel(plan);
    for (const Step* loop : loops) most_sums_ = std::max(most_sums_, sums_of(*loop_of(*loop)));
    gpu.stream();  // Arrays are on the GPU that the thread used last.
    sums_ = core::Array<kernels::SumNumber, 1, core::Device>({values * (1 + most_sums_)});
    APERTURE_CUDA_TRY(
        cudaMemsetAsync(sums_.data(), 0, values * sizeof(kernels::SumNumber), gpu.stream()));
    const DeviceCode code = compiled(gpu, {&plan, 1});
    for (const Kernel* kernel : all) {
        if (!is_generated(*kernel)) continue;
        const auto number = static_cast<std::size_t>(kernel->number);
        const auto& [group, first] = code.places.front()[number];
        const auto& functions = code.functions.at(group.get());
        elements_[number] = functions[first].kernel;
        if (has_finish(*kernel)) finish_[number] = functions[first + 1].kernel;
        allow_shared_memory(gpu, *kernel);
    }
    int most_loops = 0;
    for (std::size_t i = 0; i < loops.size(); ++i) {
        const LoopStep& loop = *loop_of(*loops[i]);
        const auto& [group, first] = code.places.front()[all.size() + i];
        most_loops = std::max(most_loops, loop.number + 1);
        add_loop(gpu, *plan.program, loop, code.functions.at(group.get())[first].kernel);
    }
    arrivals_ = core::Array<unsigned long long, 1, core::Device>({most_loops});
    APERTURE_CUDA_TRY(cudaMemsetAsync(arrivals_.data(), 0, most_loops * sizeof(unsigned long long),
                                      gpu.stream()));
}

void GpuKernels::add_loop(core::Gpu& gpu, const Program& program, const LoopStep& loop,
                          const void* function) {
    LaunchShape shape = launch_of(program, loop);
    if (shape.shared_bytes > most_bytes_on_chip) return;
    const auto shared = static_cast<std::size_t>(shape.shared_bytes);
    const core::Occupancy occupancy =
        core::occupancy(core::multiprocessor_limits(gpu), core::kernel_needs(gpu, function, shared),
                        static_cast<int>(shape.block_x * shape.block_y));
    shape.grid_x = std::min(shape.grid_x, static_cast<unsigned>(gpu.multiprocessors()));
    if (occupancy.blocks > 0) loops_[loop.number] = {function, shape};
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

namespace {

void submit(cudaStream_t stream, const void* function, const LaunchShape& shape, void* arguments,
            unsigned values = 1, bool cooperative = false) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = cooperative ? 1 : 0;
    cudaLaunchConfig_t config{};
    config.gridDim = {shape.grid_x, shape.grid_y, values};
    config.blockDim = {shape.block_x, shape.block_y, 1};
    config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = cooperative ? 1 : 0;
    APERTURE_CUDA_TRY(cudaLaunchKernelExC(&config, function, &arguments));
}

}  // namespace

void GpuKernels::launch(cudaStream_t stream, const Kernel& kernel,
                        std::span<void* const* const> rows) const {
    const auto number = static_cast<std::size_t>(kernel.number);
    const auto values = static_cast<unsigned>(rows.size());
    auto* const memory = const_cast<kernels::SumNumber*>(sums_.data());
    kernels::GridArguments arguments{walk_over(kernel.elements),
                                     memory + values_,
                                     most_sums_,
                                     reinterpret_cast<unsigned*>(memory),
                                     {}};
    std::copy(rows.begin(), rows.end(), std::begin(arguments.symbols));
    submit(stream, elements_[number], launch_of(kernel), &arguments, values);
    if (finish_[number] != nullptr) {
        submit(stream, finish_[number], finish_of(kernel), &arguments, values);
    }
}

void GpuKernels::launch(cudaStream_t stream, const LoopStep& loop, void** row, int* unended) const {
    const auto& [function, shape] = loops_.at(loop.number);
    kernels::LoopArguments arguments{
        row, const_cast<kernels::SumNumber*>(sums_.data()) + values_,
        const_cast<unsigned long long*>(arrivals_.data()) + loop.number, unended};
    submit(stream, function, shape, &arguments, 1, true);
}

}  // namespace aperture::compose
