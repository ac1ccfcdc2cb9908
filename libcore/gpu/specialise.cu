// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/specialise.hpp"
#include "libcore/once_per_key.hpp"

namespace aperture::core::detail {

std::vector<const void*> load_kernels(Gpu& gpu, const KernelSource& source,
                                      const std::vector<std::string>& expressions) {
    using Key = std::tuple<int, std::string, std::string, std::vector<std::string>,
                           std::vector<std::string>>;
    static OncePerKey<Key, std::vector<const void*>> loaded;

    const Key key{gpu.device(), source.root, source.root_text, source.options, expressions};
    return loaded.get(key, [&] {
        std::vector<const void*> kernels;
        const auto compiled = compile_kernels(source, expressions, gpu.compute_capability());
        if (!compiled) return kernels;
        cudaLibrary_t library = nullptr;
        APERTURE_CUDA_TRY(cudaLibraryLoadData(&library, compiled->cubin.data(), nullptr, nullptr, 0,
                                              nullptr, nullptr, 0));
        for (const std::string& name : compiled->names) {
            cudaKernel_t kernel = nullptr;
            APERTURE_CUDA_TRY(cudaLibraryGetKernel(&kernel, library, name.c_str()));
            kernels.push_back(kernel);
        }
        return kernels;
    });
}

}  // namespace aperture::core::detail
