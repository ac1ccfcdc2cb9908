// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernel launches from the host, on a GPU or on the SIMT host executor. Not for kernels themselves:
// NVRTC sees an empty file.

#include "libcore/gpu/kernel.cuh"

#if !defined(__CUDACC_RTC__)

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>

#include "aperture/core/executor.hpp"
#include "libcore/rounding.hpp"

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>
#endif

namespace aperture::core {

/// Grid and block in blocks and threads, dynamic shared memory in bytes per block. Stores the
/// calling line for error messages. `start_early`: blocks may start while the last ones of the
/// previous kernel still run, if the device supports it; the kernel must call
/// wait_for_previous_kernel.
struct LaunchConfig {
    dim3 grid;
    dim3 block;
    std::size_t shared;
    std::source_location where;
    bool start_early = false;

    LaunchConfig(dim3 grid_blocks, dim3 block_dim, std::size_t shared_bytes = 0,
                 std::source_location call = std::source_location::current())
        : grid(grid_blocks), block(block_dim), shared(shared_bytes), where(call) {}

    /// The same with start_early.
    LaunchConfig early() const {
        LaunchConfig config = *this;
        config.start_early = true;
        return config;
    }
};

/// The number of blocks on grid.x for `count` rows, problems, ...
inline unsigned blocks_for(index_t count, index_t count_per_block) {
    const index_t blocks = ceil_div(count, count_per_block);
    expects(blocks <= 0x7fffffff, "a grid of ", blocks, " blocks is too large");
    return static_cast<unsigned>(blocks);
}

#if defined(__CUDACC__)

/// A kernel compiled at run time (specialise.hpp); its signature is void(Parameters...).
template <class Signature>
struct SpecialisedKernel {
    const void* kernel = nullptr;
    explicit operator bool() const { return kernel != nullptr; }
};

namespace detail {
void launch_on_gpu(Gpu& gpu, const void* kernel, const LaunchConfig& config, bool cooperative,
                   void** arguments);

template <class... Parameters, class... Args>
void launch_typed(Gpu& gpu, const void* kernel, const LaunchConfig& config, bool cooperative,
                  Args&&... args) {
    static_assert(sizeof...(Parameters) == sizeof...(Args),
                  "kernel called with a wrong number of arguments");
    std::tuple<std::remove_cv_t<Parameters>...> values(static_cast<Parameters>(args)...);
    std::apply(
        [&](auto&... value) {
            void* pointers[] = {&value..., nullptr};
            launch_on_gpu(gpu, kernel, config, cooperative, pointers);
        },
        values);
}
}  // namespace detail

/// Launches `kernel` in the GPU's stream; asynchronous. Throws DeviceError, naming the kernel and
/// the calling line, if the launch is refused.
template <class... Parameters, class... Args>
void launch(Gpu& gpu, void (*kernel)(Parameters...), LaunchConfig config, Args&&... args) {
    detail::launch_typed<Parameters...>(gpu, reinterpret_cast<const void*>(kernel), config, false,
                                        args...);
}
template <class... Parameters, class... Args>
void launch(Gpu& gpu, SpecialisedKernel<void(Parameters...)> kernel, LaunchConfig config,
            Args&&... args) {
    detail::launch_typed<Parameters...>(gpu, kernel.kernel, config, false, args...);
}
template <class... Parameters, class... Args>
void launch_cooperative(Gpu& gpu, void (*kernel)(Parameters...), LaunchConfig config,
                        Args&&... args) {
    detail::launch_typed<Parameters...>(gpu, reinterpret_cast<const void*>(kernel), config, true,
                                        args...);
}

#else

namespace detail {
template <class... Parameters, class... Args>
void launch_on_host(Simt& simt, void (*kernel)(Parameters...), const LaunchConfig& config,
                    bool cooperative, Args&&... args) {
    static_assert(sizeof...(Parameters) == sizeof...(Args),
                  "kernel called with a wrong number of arguments");
    using Values = std::tuple<std::remove_cv_t<Parameters>...>;
    struct Call {
        void (*kernel)(Parameters...);
        Values values;
    };
    const Call call{kernel, Values(static_cast<Parameters>(args)...)};
    simt.run(
        {config.grid, config.block, config.shared, cooperative, config.where},
        [](const void* erased) {
            const Call& typed = *static_cast<const Call*>(erased);
            std::apply(typed.kernel, typed.values);
        },
        &call);
}
}  // namespace detail

/// Runs `kernel` on the host; synchronous. Throws DeviceError if a device would refuse the launch
/// or the kernel breaks a rule of the execution model (see Simt).
template <class... Parameters, class... Args>
void launch(Simt& simt, void (*kernel)(Parameters...), LaunchConfig config, Args&&... args) {
    detail::launch_on_host(simt, kernel, config, false, args...);
}
template <class... Parameters, class... Args>
void launch_cooperative(Simt& simt, void (*kernel)(Parameters...), LaunchConfig config,
                        Args&&... args) {
    detail::launch_on_host(simt, kernel, config, true, args...);
}

#endif

}  // namespace aperture::core

#endif
