// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Timed stages for orchestration that is a template on the executor.

#include "libcore/gpu/kernel.cuh"

#if !defined(__CUDACC_RTC__)

#include "aperture/core/timing.hpp"

namespace aperture::core {

#if defined(__CUDACC__)
inline auto stage_scope(Gpu& gpu, Timeline* timeline, const char* name, double gflop, double mb) {
    return Timeline::stage(timeline, gpu, name, gflop, mb);
}
#else
/// The SIMT host executor is not timed.
struct NothingMeasured {
    ~NothingMeasured() {}
};
inline NothingMeasured stage_scope(Simt&, Timeline*, const char*, double, double) { return {}; }
#endif

}  // namespace aperture::core

#endif
