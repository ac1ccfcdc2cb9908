// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::bench {

/// Where an iteration of robust PCA on a GPU spends its time, in seconds.
struct StageTimes {
    double spectrum = 0;  ///< the function of the Gram matrix
    double factor = 0;    ///< what makes L of W
    double pass = 0;      ///< over the matrix, its Gram matrix and sums
};

/// Means over so many iterations; by cuSOLVER's eigenvectors or by rotations.
StageTimes time_stages(core::Gpu& gpu, const core::Array<float, 2>& frames, int iterations,
                       bool by_cusolver);

}  // namespace aperture::bench
