// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/array.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap {

/// Owns all results that a run can write.
struct OwnedResults {
    core::Array<cfloat, 3> output;
    core::Array<int, 2> info;
    core::Array<float, 2> pivot_ratio;
    core::Array<cfloat, 4> covariance;
    core::Array<cfloat, 4> weights;
    core::Array<float, 3> statistic;
    core::Array<int, 2> attempt;

    explicit OwnedResults(const Problem& p)
        : output({p.steering_vectors, p.doppler_bins, p.shape.range_cells}),
          info({p.doppler_bins, p.training_sets}),
          pivot_ratio(info.extent()),
          covariance({p.doppler_bins, p.training_sets, p.order, p.order}),
          statistic(output.extent()),
          attempt(info.extent()) {
        if (p.parameters.training != Training::all)
            weights = core::Array<cfloat, 4>(
                {p.doppler_bins, p.training_sets, p.steering_vectors, p.order});
        std::fill(statistic.begin(), statistic.end(), 0.0f);
    }

    Results<core::Host> views() {
        return {output, info, pivot_ratio, covariance, weights, statistic, attempt};
    }
};

}  // namespace aperture::stap
