// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/corr/correlator.hpp"

namespace aperture::corr {

/// The method that should take less time, and the times that it was chosen by.
struct MethodChoice {
    Method method = Method::fft;
    double direct_ms = 0;
    double fft_ms = 0;
};

/// For `problem`, whatever its method, with `threads` threads; both images are one where `same`.
MethodChoice choose_method(const Problem& problem, int threads, bool same = true);

/// The same on a Gpu of so many multiprocessors, from planes to sums in its memory.
MethodChoice choose_gpu_method(const Problem& problem, int multiprocessors, bool same = true);

}  // namespace aperture::corr
