// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"
#if !defined(__CUDACC_RTC__)
#include "aperture/stap/parameters.hpp"
#endif

namespace aperture::stap {

/// Added to the diagonal of a covariance: `absolute`, and `relative` times trace / order.
struct Loading {
    double absolute, relative;
};

#if !defined(__CUDACC_RTC__)
/// The loading of a problem's covariances; `more` is relative.
inline Loading loading_of(const Problem& problem, double more) {
    const DiagonalLoading& wanted = problem.parameters.loading;
    return {wanted.relative ? 0 : wanted.value, (wanted.relative ? wanted.value : 0) + more};
}

/// The sum of both for a covariance of this trace.
inline double amount_of(const Loading& loading, const Problem& problem, double trace) {
    if (loading.relative == 0) return loading.absolute;
    return loading.absolute + loading.relative * (trace / static_cast<double>(problem.order));
}
#endif

}  // namespace aperture::stap
