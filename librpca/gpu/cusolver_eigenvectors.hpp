// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

struct cusolverDnContext;

namespace aperture::rpca::gpu {

/// Eigenvectors of matrices that do not fit one block's shared memory, by cuSOLVER's divide and
/// conquer.
class CusolverEigenvectors {
  public:
    /// Throws core::DeviceError if cuSOLVER is not available.
    CusolverEigenvectors(core::Gpu& gpu, int order);
    /// Of its arrays.
    static core::index_t bytes(core::Gpu& gpu, int order);

    /// Replaces a symmetric matrix by its eigenvectors, vector after vector; asynchronous.
    void operator()(double* matrix, double* eigenvalues);
    /// In device memory: 0 if the last eigenvectors converged.
    const int* failure() const { return info_.data(); }

  private:
    struct Destroy {
        void operator()(cusolverDnContext* handle) const;
    };
    using Handle = std::unique_ptr<cusolverDnContext, Destroy>;
    static Handle make_handle();

    core::Gpu& gpu_;
    Handle handle_;
    int order_;
    core::Array<double, 1, core::Device> workspace_;
    core::Array<int, 1, core::Device> info_;
};

}  // namespace aperture::rpca::gpu
