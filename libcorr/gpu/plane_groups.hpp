// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/error.hpp"
#include "aperture/corr/correlator.hpp"

namespace aperture::corr::gpu {

/// Returns the problem. Throws core::InvalidArgument for more planes than the blocks of a grid.
inline const Problem& fitting_grid(const Problem& problem) {
    constexpr index_t max_planes = 65535;
    const index_t planes = problem.images * problem.planes;
    core::expects(planes <= max_planes, planes, " planes exceed the GPU maximum of ", max_planes);
    return problem;
}

/// Images that are processed together, and planes of each: as many as fit in `max_bytes`, with
/// `planes` a divisor of all.
struct PlaneGroups {
    index_t images = 1;
    index_t planes = 1;

    PlaneGroups() = default;
    PlaneGroups(const Problem& problem, index_t bytes_of_plane, index_t max_bytes)
        : planes(problem.planes) {
        const index_t fitting = std::max<index_t>(max_bytes / bytes_of_plane, 1);
        while (planes > fitting || problem.planes % planes != 0) --planes;
        images = std::clamp<index_t>(fitting / problem.planes, 1, problem.images);
    }
};

/// Sizes of the transforms of correlations.
struct TransformSizes {
    int rows;     ///< length of the transforms along columns
    int columns;  ///< length of the transforms along rows
    int image_rows;
    int lag_rows;
    int planes;    ///< spectra at once
    int surfaces;  ///< products at once

    int frequencies() const { return columns / 2 + 1; }
};

}  // namespace aperture::corr::gpu
