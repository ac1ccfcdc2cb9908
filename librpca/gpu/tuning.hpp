// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Launch parameters of librpca's kernels.
namespace aperture::rpca::tuning {

/// Frames per warp in multiplier_pass_kernel: the first whose 8 warps cover all frames, else blocks
/// of 8 x 16. 8 x 13 = 104: 4 % of the products are padding for 100 frames.
inline constexpr int pass_frames[] = {4, 8, 13, 16};

/// Sides of gram_kernel's tiles of 8 x 8 products.
inline constexpr int gram_sides[] = {4, 8, 13};

/// Values that gram_kernel accumulates in fp32 before it adds them up in fp64: as many as
/// librpca/cpu. Ranks and iterations are then those of fp64.
inline constexpr int values_in_fp32 = 512;

/// Off-diagonal elements below this, relative to the roots of the diagonal elements, are not
/// rotated. f takes them in to first order; the factor's error is a few percent of the ones that
/// remain between discarded eigenvalues. 1e-3 saves rotations, but residuals then deviate by 2 %
/// from those with exact eigenvectors.
template <class T>
inline constexpr double jacobi_tolerance = sizeof(T) == 4 ? 1e-4 : 1e-9;
inline constexpr int most_jacobi_sweeps = 20;

/// Masks are found of as many frames together as fit: 49 of 640 x 480. The memory of more would not
/// stay in the second-level cache.
inline constexpr long long mask_scratch_bytes = 64 << 20;

}  // namespace aperture::rpca::tuning
