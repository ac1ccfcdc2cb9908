// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/gpu/cusolver_eigenvectors.hpp"

#include <cusolverDn.h>

#include "libcore/gpu/cuda_check.hpp"

namespace aperture::core {

static void check_status(cusolverStatus_t status, const char* call,
                         const std::source_location& where = std::source_location::current()) {
    if (status == CUSOLVER_STATUS_ALLOC_FAILED) {
        throw_unfit(call, "cuSOLVER is out of memory", where);
    }
    if (status != CUSOLVER_STATUS_SUCCESS) {
        throw_device_error(call, text("cuSOLVER status ", static_cast<int>(status)), where);
    }
}

}  // namespace aperture::core

namespace aperture::rpca::gpu {
namespace {

constexpr cusolverEigMode_t with_vectors = CUSOLVER_EIG_MODE_VECTOR;
constexpr cublasFillMode_t triangle = CUBLAS_FILL_MODE_LOWER;

core::index_t workspace_size(cusolverDnHandle_t handle, int order) {
    int words = 0;
    const cusolverStatus_t status = cusolverDnDsyevd_bufferSize(
        handle, with_vectors, triangle, order, nullptr, order, nullptr, &words);
    // Above order 23154 with cuSOLVER 12.0, whose workspace is counted as an int.
    if (status == CUSOLVER_STATUS_INVALID_VALUE) {
        throw core::UnfitDevice(core::text("cuSOLVER has no eigenvectors of order ", order));
    }
    APERTURE_CUDA_TRY(status);
    return words;
}

}  // namespace

void CusolverEigenvectors::Destroy::operator()(cusolverDnContext* handle) const {
    cusolverDnDestroy(handle);
}
CusolverEigenvectors::Handle CusolverEigenvectors::make_handle() {
    cusolverDnHandle_t handle = nullptr;
    APERTURE_CUDA_TRY(cusolverDnCreate(&handle));
    return Handle(handle);
}

CusolverEigenvectors::CusolverEigenvectors(core::Gpu& gpu, int order)
    : gpu_(gpu), handle_(make_handle()), order_(order), info_({1}) {
    workspace_ = core::Array<double, 1, core::Device>({workspace_size(handle_.get(), order)});
}
core::index_t CusolverEigenvectors::bytes(core::Gpu& /*gpu*/, int order) {
    return workspace_size(make_handle().get(), order) * static_cast<core::index_t>(sizeof(double)) +
           static_cast<core::index_t>(sizeof(int));
}

void CusolverEigenvectors::operator()(double* matrix, double* eigenvalues) {
    APERTURE_CUDA_TRY(cusolverDnSetStream(handle_.get(), gpu_.stream()));
    APERTURE_CUDA_TRY(cusolverDnDsyevd(handle_.get(), with_vectors, triangle, order_, matrix,
                                       order_, eigenvalues, workspace_.data(),
                                       static_cast<int>(workspace_.size()), info_.data()));
}

}  // namespace aperture::rpca::gpu
