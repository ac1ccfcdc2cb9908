// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::bench {

/// The stages' times in an iteration of robust PCA on a GPU, in seconds.
struct StageTimes {
    double spectrum = 0;  ///< the function of the Gram matrix
    double factor = 0;    ///< the factor that makes L from W
    double pass = 0;      ///< over the matrix, its Gram matrix and sums
};

/// Means over `iterations`; by cuSOLVER's eigenvectors or by rotations.
StageTimes time_stages(core::Gpu& gpu, const core::Array<float, 2>& frames, int iterations,
                       bool by_cusolver);

}  // namespace aperture::bench
