// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/run_copy.hpp"

#include <cuda_runtime_api.h>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/locked_pages.hpp"

namespace aperture::core {

bool has_locked_pages(Gpu& gpu, const void* first, std::size_t bytes) {
    gpu.stream();  // makes the GPU current
    const auto* begin = static_cast<const std::byte*>(first);
    for (const std::byte* at : {begin, begin + bytes - 1}) {
        cudaPointerAttributes attributes{};
        APERTURE_CUDA_TRY(cudaPointerGetAttributes(&attributes, at));
        if (attributes.type != cudaMemoryTypeHost) return false;
    }
    return true;
}

void copy_runs(Gpu& gpu, const RunCopy& copy) {
    if (copy.bytes() == 0) return;
    const auto width = static_cast<std::size_t>(copy.run_bytes);
    if (copy.dimensions == 0) {
        APERTURE_CUDA_TRY(
            cudaMemcpyAsync(copy.to, copy.from, width, cudaMemcpyDefault, gpu.stream()));
        return;
    }
    expects(copy.is_rectangle(), "copy: ", copy.dimensions,
            " dimensions of runs; a GPU copies one at a time");
    const RunCopy::Dimension& runs = copy.dimension[0];
    APERTURE_CUDA_TRY(cudaMemcpy2DAsync(copy.to, static_cast<std::size_t>(runs.to_stride),
                                        copy.from, static_cast<std::size_t>(runs.from_stride),
                                        width, static_cast<std::size_t>(runs.extent),
                                        cudaMemcpyDefault, gpu.stream()));
}

}  // namespace aperture::core
