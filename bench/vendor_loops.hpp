// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bench/gpu_calls.hpp"
#include "bench/vendor_calls.hpp"
#include "bench/vendor_handles.hpp"

/// cuBLAS and cuSOLVER on batches, called for each problem, in one stream or in several.
namespace aperture::bench {

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
GpuMethod<T> loop_of_calls(Task task, bool spread, index_t calls) {
    auto memory = std::make_shared<core::Array<T, 2, core::Device>>();
    const auto call = [spread, calls, memory](GpuBatch<T>& on) {
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
    const bool out_of_place = task == Task::dot || task == Task::gemv || task == Task::gemm;
    return {call, out_of_place ? GpuCall<T>() : restore_c<T>};
}

}  // namespace aperture::bench
