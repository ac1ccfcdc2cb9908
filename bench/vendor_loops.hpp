// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "bench/gpu_batch.hpp"
#include "bench/vendor_calls.hpp"

/// cuBLAS and cuSOLVER on batches: called for each problem, in one stream or in several, and for
/// the whole batch.
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

/// One problem by the vendor's function, in the handles' stream. `work` is its scratch memory.
template <class T>
void single_call(GpuBatch<T>& on, index_t p, typename Vendor<T>::Value* work, int words) {
    using V = VendorCall<T>;
    Handles& with = handles();
    const auto one = vendor_value(T(1));
    const auto zero = vendor_value(T(0));
    const index_t matrix = p * on.n * on.n;
    const index_t vector = p * on.n;
    switch (on.host.task) {
        case Task::dot:
            V::dot(with.blas, on.n, vendor_data<T>(on.x, vector), 1, vendor_data<T>(on.y, vector),
                   1, vendor_data<T>(on.results, p));
            break;
        case Task::gemv:
            V::gemv(with.blas, CUBLAS_OP_N, on.n, on.n, &one, vendor_data<T>(on.a, matrix), on.n,
                    vendor_data<T>(on.x, vector), 1, &zero, vendor_data<T>(on.y, vector), 1);
            break;
        case Task::gemm:
            V::gemm(with.blas, CUBLAS_OP_N, CUBLAS_OP_N, on.n, on.n, on.n, &one,
                    vendor_data<T>(on.a, matrix), on.n, vendor_data<T>(on.b, matrix), on.n, &zero,
                    vendor_data<T>(on.c, matrix), on.n);
            break;
        case Task::cholesky:
            V::potrf(with.solver, CUBLAS_FILL_MODE_LOWER, on.n, vendor_data<T>(on.c, matrix), on.n,
                     work, words, on.info.data() + p);
            break;
        case Task::pivoted_lu:
            V::getrf(with.solver, on.n, on.n, vendor_data<T>(on.c, matrix), on.n, work,
                     on.pivots.data() + vector, on.info.data() + p);
            break;
        default:
            V::geqrf(with.solver, on.n, on.n, vendor_data<T>(on.c, matrix), on.n,
                     vendor_data<T>(on.y, vector), work, words, on.info.data() + p);
    }
}

/// Words of scratch memory of a single call.
template <class T>
int words_of(GpuBatch<T>& on) {
    using V = VendorCall<T>;
    const cusolverDnHandle_t solver = handles().solver;
    auto* const c = vendor_data<T>(on.c, 0);
    int words = 0;
    if (on.host.task == Task::cholesky) {
        V::potrf_words(solver, CUBLAS_FILL_MODE_LOWER, on.n, c, on.n, &words);
    } else if (on.host.task == Task::pivoted_lu) {
        V::getrf_words(solver, on.n, on.n, c, on.n, &words);
    } else if (on.host.task == Task::qr) {
        V::geqrf_words(solver, on.n, on.n, c, on.n, &words);
    }
    return words;
}

/// The first `calls` problems, one call each; in several streams if `spread`.
template <class T>
GpuCall<T> loop_of_calls(bool spread, index_t calls) {
    auto memory = std::make_shared<core::Array<T, 2, core::Device>>();
    return [spread, calls, memory](GpuBatch<T>& on) {
        Handles& with = handles();
        const int words = words_of(on);
        memory->reshape({streams, std::max(words, 1)});
        cublasSetPointerMode(with.blas, on.host.task == Task::dot ? CUBLAS_POINTER_MODE_DEVICE
                                                                  : CUBLAS_POINTER_MODE_HOST);
        cudaEventRecord(with.begin, on.gpu.stream());
        for (int s = 0; spread && s < streams; ++s) {
            cudaStreamWaitEvent(with.streams_[s], with.begin);
        }
        for (index_t p = 0; p < calls; ++p) {
            const auto s = static_cast<std::size_t>(p % streams);
            const cudaStream_t stream = spread ? with.streams_[s] : on.gpu.stream();
            cublasSetStream(with.blas, stream);
            cusolverDnSetStream(with.solver, stream);
            single_call(on, p, vendor_data<T>(*memory, index_t(s) * std::max(words, 1)), words);
        }
        for (std::size_t s = 0; spread && s < streams; ++s) {
            cudaEventRecord(with.events[s], with.streams_[s]);
            cudaStreamWaitEvent(on.gpu.stream(), with.events[s]);
        }
        cublasSetPointerMode(with.blas, CUBLAS_POINTER_MODE_HOST);
    };
}

/// Pointers to every matrix or vector of a batch.
template <class T>
std::shared_ptr<core::Array<typename Vendor<T>::Value*, 1, core::Device>> pointers(
    core::Gpu& gpu, T* first, index_t problems, index_t distance) {
    using Value = typename Vendor<T>::Value;
    std::vector<Value*> host;
    for (index_t p = 0; p < problems; ++p) {
        host.push_back(reinterpret_cast<Value*>(first + p * distance));
    }
    auto there = std::make_shared<core::Array<Value*, 1, core::Device>>(core::Extents<1>{problems});
    cudaMemcpyAsync(there->data(), host.data(), host.size() * sizeof(Value*),
                    cudaMemcpyHostToDevice, gpu.stream());
    gpu.synchronize();
    return there;
}

/// The vendor's function for the whole batch, after its pointers have been made.
template <class T>
GpuCall<T> batched_call(GpuBatch<T>& first) {
    using V = Vendor<T>;
    const Task task = first.host.task;
    if (task == Task::gemv || task == Task::gemm) {
        return [task](GpuBatch<T>& on) {
            const auto one = vendor_value(T(1));
            const auto zero = vendor_value(T(0));
            const index_t size = index_t{on.n} * on.n;
            const auto problems = static_cast<int>(on.problems);
            cublasSetStream(handles().blas, on.gpu.stream());
            if (task == Task::gemm) {
                V::gemm(handles().blas, CUBLAS_OP_N, CUBLAS_OP_N, on.n, on.n, on.n, &one,
                        vendor_data<T>(on.a, 0), on.n, size, vendor_data<T>(on.b, 0), on.n, size,
                        &zero, vendor_data<T>(on.c, 0), on.n, size, problems);
            } else {
                V::gemv(handles().blas, CUBLAS_OP_N, on.n, on.n, &one, vendor_data<T>(on.a, 0),
                        on.n, size, vendor_data<T>(on.x, 0), 1, on.n, &zero,
                        vendor_data<T>(on.y, 0), 1, on.n, problems);
            }
        };
    }
    if (task != Task::cholesky && task != Task::pivoted_lu && task != Task::qr) return nullptr;
    auto matrices = pointers(first.gpu, first.c.data(), first.problems, index_t{first.n} * first.n);
    auto vectors = pointers(first.gpu, first.y.data(), first.y.size() > 0 ? first.problems : 0,
                            index_t{first.n});
    return [task, matrices, vectors](GpuBatch<T>& on) {
        const auto problems = static_cast<int>(on.problems);
        cublasSetStream(handles().blas, on.gpu.stream());
        cusolverDnSetStream(handles().solver, on.gpu.stream());
        if (task == Task::cholesky) {
            V::potrf(handles().solver, CUBLAS_FILL_MODE_LOWER, on.n, matrices->data(), on.n,
                     on.info.data(), problems);
        } else if (task == Task::pivoted_lu) {
            V::getrf(handles().blas, on.n, matrices->data(), on.n, on.pivots.data(), on.info.data(),
                     problems);
        } else {
            int info = 0;
            V::geqrf(handles().blas, on.n, on.n, matrices->data(), on.n, vectors->data(), &info,
                     problems);
        }
    };
}

}  // namespace aperture::bench
