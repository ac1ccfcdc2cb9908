// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/vendor_batches.hpp"

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "bench/gpu_calls.hpp"
#include "bench/vendor_handles.hpp"

namespace aperture::bench {
namespace {

template <class T>
using Value = typename Vendor<T>::Value;

/// Pointers to every matrix or vector of a batch.
template <class T>
auto pointers(GpuBatch<T>& on, core::Array<T, 3, core::Device>& batch, index_t distance) {
    std::vector<Value<T>*> host;
    for (index_t p = 0; p < on.problems; ++p) {
        host.push_back(vendor_data<T>(batch, p * distance));
    }
    auto there =
        std::make_shared<core::Array<Value<T>*, 1, core::Device>>(core::Extents<1>{on.problems});
    cudaMemcpyAsync(there->data(), host.data(), host.size() * sizeof(Value<T>*),
                    cudaMemcpyHostToDevice, on.gpu.stream());
    on.gpu.synchronize();
    return there;
}

/// The handles, whose functions run in the batch's stream.
template <class T>
Handles& handles_of(GpuBatch<T>& on) {
    Handles& with = handles();
    cublasSetStream(with.blas, on.gpu.stream());
    cusolverDnSetStream(with.solver, on.gpu.stream());
    return with;
}

template <class T>
int problems_of(const GpuBatch<T>& on) {
    return static_cast<int>(on.problems);
}

template <class T>
void gemv(GpuBatch<T>& on) {
    const auto one = vendor_value(T(1)), zero = vendor_value(T(0));
    Vendor<T>::gemv(handles_of(on).blas, CUBLAS_OP_N, on.n, on.n, &one, vendor_data<T>(on.a, 0),
                    on.n, index_t{on.n} * on.n, vendor_data<T>(on.x, 0), 1, on.n, &zero,
                    vendor_data<T>(on.y, 0), 1, on.n, problems_of(on));
}

template <class T>
void gemm(GpuBatch<T>& on) {
    const auto one = vendor_value(T(1)), zero = vendor_value(T(0));
    const index_t size = index_t{on.n} * on.n;
    Vendor<T>::gemm(handles_of(on).blas, CUBLAS_OP_N, CUBLAS_OP_N, on.n, on.n, on.n, &one,
                    vendor_data<T>(on.a, 0), on.n, size, vendor_data<T>(on.b, 0), on.n, size, &zero,
                    vendor_data<T>(on.c, 0), on.n, size, problems_of(on));
}

/// Functions that overwrite the matrices that c points to.
template <class T>
GpuMethod<T> factors(GpuBatch<T>& first) {
    using V = Vendor<T>;
    auto c = pointers(first, first.c, index_t{first.n} * first.n);
    const auto in_place = [](const GpuCall<T>& call) { return GpuMethod<T>{call, restore_c<T>}; };
    switch (first.host.task) {
        case Task::cholesky:
            return in_place([c](GpuBatch<T>& on) {
                V::potrf(handles_of(on).solver, CUBLAS_FILL_MODE_LOWER, on.n, c->data(), on.n,
                         on.info.data(), problems_of(on));
            });
        case Task::lu:
        case Task::pivoted_lu:
            return in_place([c](GpuBatch<T>& on) {
                int* const pivots = on.host.task == Task::lu ? nullptr : on.pivots.data();
                V::getrf(handles_of(on).blas, on.n, c->data(), on.n, pivots, on.info.data(),
                         problems_of(on));
            });
        default:
            auto scale = std::make_shared<core::Array<T, 3, core::Device>>(
                core::Extents<3>{first.problems, 1, first.n});
            auto scales = pointers(first, *scale, index_t{first.n});
            return in_place([c, scale, scales](GpuBatch<T>& on) {
                int info = 0;
                V::geqrf(handles_of(on).blas, on.n, on.n, c->data(), on.n, scales->data(), &info,
                         problems_of(on));
            });
    }
}

/// By LU factors; inverses of up to order 32 by the vendor's faster function.
template <class T>
GpuMethod<T> solve_or_invert(GpuBatch<T>& first) {
    using V = Vendor<T>;
    const bool solves = first.host.task == Task::solve;
    const index_t size = index_t{first.n} * first.n;
    constexpr int largest_of_matinv = 32;
    if (!solves && first.n <= largest_of_matinv) {
        auto a = pointers(first, first.a, size), c = pointers(first, first.c, size);
        return {[a, c](GpuBatch<T>& on) {
            V::matinv(handles_of(on).blas, on.n, a->data(), on.n, c->data(), on.n, on.info.data(),
                      problems_of(on));
        }};
    }
    auto factor = std::make_shared<core::Array<T, 3, core::Device>>(first.a.extent());
    auto lu = pointers(first, *factor, size);
    auto to =
        solves ? pointers(first, first.sides, index_t{first.n}) : pointers(first, first.c, size);
    return {[solves, lu, to](GpuBatch<T>& on) {
                const cublasHandle_t blas = handles_of(on).blas;
                V::getrf(blas, on.n, lu->data(), on.n, on.pivots.data(), on.info.data(),
                         problems_of(on));
                int info = 0;
                if (solves) {
                    V::getrs(blas, CUBLAS_OP_N, on.n, 1, lu->data(), on.n, on.pivots.data(),
                             to->data(), on.n, &info, problems_of(on));
                } else {
                    V::getri(blas, on.n, lu->data(), on.n, on.pivots.data(), to->data(), on.n,
                             on.info.data(), problems_of(on));
                }
            },
            [factor](GpuBatch<T>& on) {
                on.restore_matrices(factor->data());
                on.restore_sides();
            }};
}

template <class T>
GpuMethod<T> substitute(GpuBatch<T>& first) {
    using V = Vendor<T>;
    auto a = pointers(first, first.a, index_t{first.n} * first.n);
    auto x = pointers(first, first.sides, index_t{first.n});
    return {[a, x](GpuBatch<T>& on) {
                int info = 0;
                if (on.host.task == Task::substitute_lu) {
                    V::getrs(handles_of(on).blas, CUBLAS_OP_N, on.n, 1, a->data(), on.n,
                             on.pivots.data(), x->data(), on.n, &info, problems_of(on));
                } else {
                    V::potrs(handles_of(on).solver, CUBLAS_FILL_MODE_LOWER, on.n, 1, a->data(),
                             on.n, x->data(), on.n, on.info.data(), problems_of(on));
                }
            },
            [](GpuBatch<T>& on) { on.restore_sides(); }};
}

/// Parameters of a method, as cuSOLVER sets them.
template <class Info>
std::shared_ptr<Info> parameters_of(cusolverStatus_t (*create)(Info**),
                                    cusolverStatus_t (*destroy)(Info*)) {
    Info* created = nullptr;
    create(&created);
    return {created, destroy};
}

/// By a function for matrices of any order.
template <class T>
GpuMethod<T> eigen_of_large(GpuBatch<T>& first) {
    using V = Vendor<T>;
    auto parameters = parameters_of(cusolverDnCreateParams, cusolverDnDestroyParams);
    std::size_t bytes = 0, host_bytes = 0;
    cusolverDnXsyevBatched_bufferSize(
        handles_of(first).solver, parameters.get(), CUSOLVER_EIG_MODE_VECTOR,
        CUBLAS_FILL_MODE_LOWER, first.n, V::type, first.c.data(), first.n, V::real,
        first.values.data(), V::type, &bytes, &host_bytes, first.problems);
    auto space = std::make_shared<core::Array<std::byte, 1, core::Device>>(
        core::Extents<1>{static_cast<index_t>(bytes)});
    auto host_space = std::make_shared<std::vector<std::byte>>(host_bytes);
    return {[space, host_space, parameters](GpuBatch<T>& on) {
                cusolverDnXsyevBatched(handles_of(on).solver, parameters.get(),
                                       CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, on.n,
                                       V::type, on.c.data(), on.n, V::real, on.values.data(),
                                       V::type, space->data(), space->size(), host_space->data(),
                                       host_space->size(), on.info.data(), on.problems);
            },
            restore_c<T>};
}

/// By rotations, or by the vendor's function that is faster for larger matrices.
template <class T>
GpuMethod<T> eigen(GpuBatch<T>& first) {
    using V = Vendor<T>;
    constexpr int least_of_large = 32;
    if (first.n >= least_of_large) return eigen_of_large(first);
    auto parameters = parameters_of(cusolverDnCreateSyevjInfo, cusolverDnDestroySyevjInfo);
    int words = 0;
    V::eigen_size(handles_of(first).solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                  first.n, vendor_data<T>(first.c, 0), first.n, first.values.data(), &words,
                  parameters.get(), problems_of(first));
    auto space = std::make_shared<core::Array<Value<T>, 1, core::Device>>(core::Extents<1>{words});
    return {[space, words, parameters](GpuBatch<T>& on) {
                V::eigen(handles_of(on).solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                         on.n, vendor_data<T>(on.c, 0), on.n, on.values.data(), space->data(),
                         words, on.info.data(), parameters.get(), problems_of(on));
            },
            restore_c<T>};
}

template <class T>
GpuMethod<T> singular_values(GpuBatch<T>& first) {
    using V = Vendor<T>;
    auto parameters = parameters_of(cusolverDnCreateGesvdjInfo, cusolverDnDestroyGesvdjInfo);
    auto matrices = std::make_shared<core::Array<T, 3, core::Device>>(first.a.extent());
    int words = 0;
    V::gesvd_size(handles_of(first).solver, CUSOLVER_EIG_MODE_VECTOR, first.n, first.n,
                  vendor_data<T>(*matrices, 0), first.n, first.values.data(),
                  vendor_data<T>(first.b, 0), first.n, vendor_data<T>(first.c, 0), first.n, &words,
                  parameters.get(), problems_of(first));
    auto space = std::make_shared<core::Array<Value<T>, 1, core::Device>>(core::Extents<1>{words});
    return {[matrices, space, words, parameters](GpuBatch<T>& on) {
                V::gesvd(handles_of(on).solver, CUSOLVER_EIG_MODE_VECTOR, on.n, on.n,
                         vendor_data<T>(*matrices, 0), on.n, on.values.data(),
                         vendor_data<T>(on.b, 0), on.n, vendor_data<T>(on.c, 0), on.n,
                         space->data(), words, on.info.data(), parameters.get(), problems_of(on));
            },
            [matrices](GpuBatch<T>& on) { on.restore_matrices(matrices->data()); }};
}

}  // namespace

bool has_vendor_method(Task task, int n) {
    constexpr int largest_of_gesvdj = 32;
    switch (task) {
        case Task::dot:
        case Task::rank_k:
        case Task::apply_q:
        case Task::form_q:
        case Task::solve_positive:
        case Task::solve_by_qr:
        case Task::gauss_jordan:
        case Task::change_layout:
            return false;
        case Task::svd:
            return n <= largest_of_gesvdj;
        default:
            return true;
    }
}

template <class T>
GpuMethod<T> vendor_method(GpuBatch<T>& on) {
    switch (on.host.task) {
        case Task::gemv:
            return {gemv<T>};
        case Task::gemm:
            return {gemm<T>};
        case Task::solve:
        case Task::inverse:
            return solve_or_invert(on);
        case Task::substitute_lu:
        case Task::substitute_cholesky:
            return substitute(on);
        case Task::eigen:
            return eigen(on);
        case Task::svd:
            return singular_values(on);
        default:
            return factors(on);
    }
}
template GpuMethod<float> vendor_method(GpuBatch<float>&);
template GpuMethod<double> vendor_method(GpuBatch<double>&);
template GpuMethod<std::complex<float>> vendor_method(GpuBatch<std::complex<float>>&);
template GpuMethod<std::complex<double>> vendor_method(GpuBatch<std::complex<double>>&);

}  // namespace aperture::bench
