// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Ceilings of the machine, measured in the same run as the benchmarks that quote them.
namespace aperture::bench {

/// Peak of fused multiply-adds (two operations each) on full vector registers in GFLOP/s: the best
/// of several short runs on `threads` threads. The result is kept for later calls with the same
/// type and number of threads.
template <class Real>
double fma_peak_gflops(int threads);

/// Bandwidth of copies between arrays far larger than the caches, reads plus writes, in GB/s.
double copy_bandwidth_gbs(int threads);

}  // namespace aperture::bench
