// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/stap/pipeline.hpp"

namespace aperture::stap {

/// A part of the steering vectors that the stages compute with at once.
struct VectorPass {
    Problem problem;  ///< with the vectors of the pass only
    index_t first = 0;

    /// The part of a view whose dimension `dimension` is the steering vector; an empty view stays.
    template <class View>
    View part_of(const View& all, int dimension) const {
        if (all.empty()) return all;
        return all.slice(dimension, first, first + problem.steering_vectors);
    }
    /// Where the pass stores its results. What does not depend on the vectors is the same in every
    /// pass.
    template <class Space>
    Results<Space> part_of(Results<Space> results) const {
        results.output = part_of(results.output, 0);
        results.weights = part_of(results.weights, 2);
        results.statistic = part_of(results.statistic, 0);
        return results;
    }
};

/// One pass, or for more than max_vectors_of_run passes of nearly equal size, because kernels are
/// compiled for each size.
inline std::vector<VectorPass> vector_passes(const Problem& problem) {
    constexpr index_t vectors_of_pass = 32;
    const index_t vectors = problem.steering_vectors;
    if (vectors <= max_vectors_of_run) return {{problem, 0}};
    const index_t count = (vectors + vectors_of_pass - 1) / vectors_of_pass;
    std::vector<VectorPass> passes;
    for (index_t p = 0; p < count; ++p) {
        VectorPass pass{problem, p * vectors / count};
        pass.problem.steering_vectors = static_cast<int>((p + 1) * vectors / count - pass.first);
        passes.push_back(pass);
    }
    return passes;
}

}  // namespace aperture::stap
