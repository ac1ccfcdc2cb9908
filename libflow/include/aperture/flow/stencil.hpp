// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a pixel is coupled to its neighbours. Kernels include this file, too.

namespace aperture::flow {

/// Values outside the image: the nearest pixel (no flux across the border) or zero.
enum class Boundary { replicate, zero };

/// The Laplacian: four neighbours, or Horn & Schunck's eight (1981, section 8: weight 1/2 for the
/// four, 1/4 for the diagonal ones, 3 for the centre).
enum class Stencil { five, nine };

/// A Laplacian with equal weights, or a given weight for every pair of neighbours.
enum class Coupling { five, nine, weighted };

}  // namespace aperture::flow
