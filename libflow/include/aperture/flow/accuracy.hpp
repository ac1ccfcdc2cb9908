// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "aperture/core/executor.hpp"
#include "aperture/flow/field.hpp"

namespace aperture::flow {

/// False where a flow is unknown: NaN, or a component beyond 1e9 in magnitude (the rule of the
/// Middlebury benchmark, whose files hold about 1.67e9 there; Baker et al. 2011).
inline bool is_known(float u, float v) { return std::abs(u) <= 1e9F && std::abs(v) <= 1e9F; }

/// Errors of a flow over all pixels with known truth (Baker et al. 2011, section 4.1).
struct Accuracy {
    index_t known = 0;       ///< pixels with known truth
    index_t non_finite = 0;  ///< of these, non-finite estimates: outliers, not in the means
    double aae = 0;          ///< mean angle between (u, v, 1) and the true one, degrees
    double epe = 0;          ///< mean distance of the end points, pixels
    double rmse = 0;         ///< root mean squared distance, pixels
    double r05 = 0;          ///< fraction of pixels with a distance above 0.5, 1 and 2 pixels
    double r1 = 0;
    double r2 = 0;
};

/// Throws core::InvalidArgument if the extents differ. Without a known pixel all members but the
/// counts are NaN.
Accuracy compare(core::Cpu& cpu, ConstFlowView<core::Host> flow, ConstFlowView<core::Host> truth);

}  // namespace aperture::flow
