// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/specialise.hpp"

namespace aperture::core::detail {

const void* load_kernel(Gpu& gpu, const KernelSource& source, const std::string& expression) {
    struct Loaded {
        std::string image;
        cudaKernel_t kernel = nullptr;
        bool cannot_be = false;
    };
    static std::mutex mutex;
    static std::map<std::tuple<int, std::string, std::string, std::string>, Loaded> loaded;

    const std::scoped_lock lock(mutex);
    Loaded& entry = loaded[{gpu.device(), source.root, source.root_text, expression}];
    if (entry.kernel == nullptr && !entry.cannot_be) {
        auto compiled = compile_kernel(source, expression, gpu.compute_capability());
        entry.cannot_be = !compiled;
        if (!compiled) return nullptr;
        entry.image = std::move(compiled->cubin);
        cudaLibrary_t library = nullptr;
        APERTURE_CUDA_TRY(cudaLibraryLoadData(&library, entry.image.data(), nullptr, nullptr, 0,
                                              nullptr, nullptr, 0));
        APERTURE_CUDA_TRY(cudaLibraryGetKernel(&entry.kernel, library, compiled->name.c_str()));
    }
    return entry.kernel;
}

}  // namespace aperture::core::detail
