// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>

#include "bench/vendor_batches.hpp"

/// Handles of cuBLAS and cuSOLVER, and what their functions read.
namespace aperture::bench {

inline constexpr int streams = 16;

struct Handles {
    cublasHandle_t blas = nullptr;
    cusolverDnHandle_t solver = nullptr;
    std::array<cudaStream_t, streams> streams_{};
    std::array<cudaEvent_t, streams> events{};
    cudaEvent_t begin{};

    Handles() {
        cublasCreate(&blas);
        cusolverDnCreate(&solver);
        for (auto& stream : streams_) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        for (auto& event : events) cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
    }
};

inline Handles& handles() {
    static thread_local Handles kept;
    return kept;
}

template <class T>
auto vendor_value(T number) {
    return std::bit_cast<typename Vendor<T>::Value>(number);
}
template <class T, class Batch>
auto* vendor_data(Batch& array, index_t offset) {
    return reinterpret_cast<typename Vendor<T>::Value*>(const_cast<T*>(array.data()) + offset);
}

}  // namespace aperture::bench
