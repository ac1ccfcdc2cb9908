// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For code shared by host and device: the attribute macro and the index type. Includes no standard
// header, because the run-time compiler (NVRTC) has none.

#if defined(__CUDACC__)
#define APERTURE_HD __host__ __device__ __forceinline__
#else
#define APERTURE_HD inline
#endif

namespace aperture::core {

/// Extents, strides and positions: signed, wide enough for every cube and batch.
using index_t = long long;

}  // namespace aperture::core
