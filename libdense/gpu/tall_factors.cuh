// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Interface of the QR methods for tall matrices on a device. Host code.

#include "libdense/gpu/copy_matrix.cuh"

#if !defined(__CUDACC_RTC__)

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "aperture/core/view.hpp"

namespace aperture::dense::gpu {

/// R and Q of A by one method, behind TallQr's checks. Matrices that Q is applied to have at most
/// as many columns as A.
template <class T, class DeviceSpace>
class TallFactors {
  public:
    template <class U>
    using Matrix = core::View<U, 2, DeviceSpace>;

    TallFactors() = default;
    TallFactors(const TallFactors&) = delete;
    TallFactors& operator=(const TallFactors&) = delete;
    virtual ~TallFactors() = default;

    /// Without `keep`, Q may be discarded.
    virtual void factor(Matrix<const T> a, Matrix<T> r, bool keep) = 0;
    virtual bool fell_back() const { return false; }
    /// Bytes that `factor` without `keep` allocates.
    virtual index_t bytes() const = 0;
    virtual void form_q(Matrix<T> q) = 0;
    virtual void apply_transposed(Matrix<const T> c, Matrix<T> x) = 0;
    virtual void apply(Matrix<const T> x, Matrix<T> c) = 0;
};

}  // namespace aperture::dense::gpu

#endif
