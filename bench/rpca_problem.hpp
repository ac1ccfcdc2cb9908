// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/core/array.hpp"
#include "aperture/rpca/robust_pca.hpp"

/// Test problems of the robust PCA benchmarks.
namespace aperture::bench {

using core::index_t;

struct Size {
    index_t values;
    index_t frames;
};

inline constexpr int iterations = 25;
/// Maximum residual of L + S after `iterations`, which follows from the growth of mu.
inline constexpr double worst_residual = 1e-3;

/// Frames of a bright scene with changing light, noise and a moving object. Like a video's, their
/// matrix has half its rank after about twenty iterations.
core::Array<float, 2> video(const Size& size);

/// ||M - L - S||_F / ||M||_F
double residual_of(const core::Array<float, 2>& m, const core::Array<float, 2>& low_rank,
                   const core::Array<float, 2>& sparse);

/// "110592x100"
std::string name_of(const Size& size);

}  // namespace aperture::bench
