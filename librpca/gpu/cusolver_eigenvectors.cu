// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cusolverDn.h>

#include "aperture/core/error.hpp"
#include "librpca/gpu/cusolver_eigenvectors.hpp"

namespace aperture::rpca::gpu {
namespace {

constexpr cusolverEigMode_t with_vectors = CUSOLVER_EIG_MODE_VECTOR;
constexpr cublasFillMode_t triangle = CUBLAS_FILL_MODE_LOWER;

void check(cusolverStatus_t status, const char* call) {
    if (status == CUSOLVER_STATUS_SUCCESS) return;
    throw core::DeviceError(
        core::text("cuSOLVER: ", call, " failed with status ", static_cast<int>(status)));
}

core::index_t workspace_size(cusolverDnHandle_t handle, int order) {
    int words = 0;
    check(cusolverDnDsyevd_bufferSize(handle, with_vectors, triangle, order, nullptr, order,
                                      nullptr, &words),
          "cusolverDnDsyevd_bufferSize");
    return words;
}

}  // namespace

void CusolverEigenvectors::Destroy::operator()(cusolverDnContext* handle) const {
    cusolverDnDestroy(handle);
}
CusolverEigenvectors::Handle CusolverEigenvectors::make_handle() {
    cusolverDnHandle_t handle = nullptr;
    check(cusolverDnCreate(&handle), "cusolverDnCreate");
    return Handle(handle);
}

CusolverEigenvectors::CusolverEigenvectors(core::Gpu& gpu, int order)
    : handle_(make_handle()), order_(order), info_({1}) {
    check(cusolverDnSetStream(handle_.get(), gpu.stream()), "cusolverDnSetStream");
    workspace_ = core::Array<double, 1, core::Device>({workspace_size(handle_.get(), order)});
}
core::index_t CusolverEigenvectors::bytes(core::Gpu& /*gpu*/, int order) {
    return workspace_size(make_handle().get(), order) * static_cast<core::index_t>(sizeof(double)) +
           static_cast<core::index_t>(sizeof(int));
}

void CusolverEigenvectors::operator()(double* matrix, double* eigenvalues) {
    check(
        cusolverDnDsyevd(handle_.get(), with_vectors, triangle, order_, matrix, order_, eigenvalues,
                         workspace_.data(), static_cast<int>(workspace_.size()), info_.data()),
        "cusolverDnDsyevd");
}

}  // namespace aperture::rpca::gpu
