// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the machine can do at most, measured in the same run as the benchmarks that quote it.
namespace aperture::bench {

/// Fused multiply-adds on full vector registers, counted as two operations each, in GFLOP/s:
/// `threads` threads at once, the best of several short runs. Results are kept: asking again for
/// the same type and number of threads costs nothing.
template <class Real>
double fma_peak_gflops(int threads);

/// Copying between arrays far larger than the caches, bytes read plus bytes written, in GB/s.
double copy_bandwidth_gbs(int threads);

}  // namespace aperture::bench
