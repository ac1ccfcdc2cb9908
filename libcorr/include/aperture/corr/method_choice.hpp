// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/corr/correlator.hpp"

namespace aperture::corr {

/// The faster method by estimated times, and these times.
struct MethodChoice {
    Method method = Method::fft;
    double direct_ms = 0;
    double fft_ms = 0;
};

/// For `problem`, whatever its method, with `threads` CPU threads; `same`: both images are one.
MethodChoice choose_method(const Problem& problem, int threads, bool same = true);

/// The same on a Gpu of this compute capability (core::Gpu::compute_capability) with this many
/// multiprocessors, from planes to sums in its memory.
MethodChoice choose_gpu_method(const Problem& problem, int capability, int multiprocessors,
                               bool same = true);

}  // namespace aperture::corr
