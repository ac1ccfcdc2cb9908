// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What code shared by host and device needs: the attribute macro and the index type. No standard
// header is included where the run-time compiler (NVRTC) reads this, which has none.

#if defined(__CUDACC__)
#define APERTURE_HD __host__ __device__ __forceinline__
#else
#define APERTURE_HD inline
#endif

namespace aperture::core {

/// Extents, strides and positions: signed, wide enough for every cube and batch.
using index_t = long long;

}  // namespace aperture::core
