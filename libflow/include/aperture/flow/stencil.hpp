// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a pixel is tied to its neighbours; kernels read this, too.

namespace aperture::flow {

/// What lies outside the image: the nearest pixel (no flux across the border) or zero.
enum class Boundary { replicate, zero };

/// The Laplacian: four neighbours, or Horn & Schunck's eight (1981, section 8: weights 1/2 for the
/// four and 1/4 for the diagonal ones, 3 in the middle).
enum class Stencil { five, nine };

/// A Laplacian of equal weights, or weights given for every pair of neighbours.
enum class Coupling { five, nine, weighted };

}  // namespace aperture::flow
