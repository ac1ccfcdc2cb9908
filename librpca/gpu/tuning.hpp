// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the kernels of librpca are launched with.
namespace aperture::rpca::tuning {

/// Frames of a warp in multiplier_pass_kernel, of up to so many frames in all; more are taken in
/// blocks of the last row's. 8 x 13 frames are 104: of 100, 4 % of the products are of none.
inline constexpr int pass_frames[] = {4, 8, 13, 16};

/// Sides of gram_kernel's tiles of 8 x 8 products.
inline constexpr int gram_sides[] = {4, 8, 13};

/// Values whose products gram_kernel adds up in fp32 before their sum goes to fp64: as many as
/// librpca/cpu does, with which ranks and iterations are those of fp64.
inline constexpr int values_in_fp32 = 512;

/// A rotation is left out below this, beside the roots of the diagonal elements. What it leaves is
/// taken into account to first order, so that the factor is wrong by as much of what remains
/// between eigenvalues that are left out, a few percent. 1e-3 takes fewer rotations, but residuals
/// are then 2 % from those of exact eigenvectors.
template <class T>
inline constexpr double jacobi_tolerance = sizeof(T) == 4 ? 1e-4 : 1e-9;
inline constexpr int most_jacobi_sweeps = 20;

}  // namespace aperture::rpca::tuning
