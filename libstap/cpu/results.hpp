// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

/// Detectors made of quadratic forms in the inverse covariance.
inline bool is_adaptive(Detector detector) {
    return detector == Detector::amf || detector == Detector::ace || detector == Detector::glrt;
}

/// Rounds to fp32 into a result [k][b][row][column] that may not be wanted.
template <class Real>
void copy_where_wanted(const core::View<const std::complex<Real>, 4, core::Host>& from,
                       const core::View<cfloat, 4, core::Host>& to) {
    if (to.empty()) return;
    for (index_t k = 0; k < from.extent[0]; ++k)
        for (index_t b = 0; b < from.extent[1]; ++b)
            for (index_t i = 0; i < from.extent[2]; ++i)
                for (index_t j = 0; j < from.extent[3]; ++j)
                    to(k, b, i, j) = cfloat(from(k, b, i, j));
}

/// Bytes of what detection reads and writes; its arithmetic is that of the weights once more.
inline Work detect_work(const Problem& problem) {
    const double cells = double(problem.doppler_bins) * double(problem.shape.range_cells);
    const double bytes = cells * problem.steering_vectors * (sizeof(cfloat) + sizeof(float));
    return {0, bytes * 1e-6};
}

}  // namespace aperture::stap::cpu
