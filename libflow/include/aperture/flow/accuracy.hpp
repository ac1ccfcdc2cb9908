// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/flow/field.hpp"

namespace aperture::flow {

/// Components of a true flow beyond this, and those that are not finite, are unknown (Baker et al.
/// 2011).
inline constexpr float largest_known = 1e9F;

/// How far a flow is from the truth, over all pixels whose truth is known (Baker et al. 2011,
/// section 4.1).
struct Accuracy {
    index_t known = 0;       ///< pixels
    index_t non_finite = 0;  ///< of these, those whose estimate is not finite; counted as outliers
    double aae = 0;          ///< mean angle between (u, v, 1) and the true one, degrees
    double epe = 0;          ///< mean distance of the end points, pixels
    double rmse = 0;         ///< root of the mean squared distance, pixels
    double r05 = 0;          ///< share of pixels with a distance above 0.5, 1 and 2 pixels
    double r1 = 0;
    double r2 = 0;
};

/// Throws core::InvalidArgument where the extents differ. Without a known pixel all but the counts
/// are NaN.
Accuracy compare(core::Cpu& cpu, ConstFlowView<core::Host> flow, ConstFlowView<core::Host> truth);

}  // namespace aperture::flow
