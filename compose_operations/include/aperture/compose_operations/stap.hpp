// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/operation.hpp"

namespace aperture::compose {

/// Adds the stages of extended factored STAP with block training, in fp32 (see
/// aperture/stap/stages.hpp for the mathematics; Anderson 2014, program 9). L channels, K Doppler
/// bins, N range cells; n = L taps; B blocks of `block` cells, P = K B problems, bin by bin; D
/// steering vectors. A cube is an array c64[L, K, N], steering an array c64[D, n].
///
/// Stage by stage, as the thesis has them:
///     extract_snapshots<block, taps>(cube): batch c64[P, n, block].
///     outer_products<loading>(snapshots): batch c64[P, n, n], the mean of S S^H over the cells
///     plus
///         loading on the diagonal.
///     solve_weights<solver>(covariance, steering): batch c64[P, D, n], R^-1 v; `solver` is
///     cholesky
///         (default) or gauss_jordan. Zero where R is not positive definite.
///     gamma_weights(weights, steering): array f32[P, D], 1 / |w^H v|.
///     inner_products<bins, cells>(snapshots, weights, gamma): array c64[D, K, N], gamma w^H S.
/// Without snapshots in memory:
///     doppler<bins>(pulses): array c64[L, K, N] from array c64[L, pulses, N], without taper.
///     estimate_covariance<block, taps, loading, relative_loading>(cube): as outer_products of
///         extract_snapshots. The loading is absolute, or relative to trace(R) / n.
///     apply_weights<block, taps>(cube, steering, weights): array c64[D, K, N], gamma w^H S.
/// In one pass over the cube, without covariances and weights in memory either:
///     adapt_cube<block, taps, loading, relative_loading, solver>(cube, steering): array c64[D, K,
///     N].
/// `block` is 64, `taps` 3 and loadings are 0 where they are not named. gamma_weights and
/// inner_products join others in a kernel; the rest are a library's kernels each, which on a GPU
/// follow one another without a wait.
void add_stap(Registry& registry);

}  // namespace aperture::compose
