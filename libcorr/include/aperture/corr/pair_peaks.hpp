// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// Similarity of images: for images a and b, the maximum over the displacements of
///
///     sum_p c_p(dy, dx) / sqrt(sum_p sum A_p^2 sum_p sum B_p^2)
///
/// over whole planes. It is in [-1, 1] (Cauchy-Schwarz) and 1 for an image with itself. For images
/// without energy it is 0, at displacement (0, 0).
struct PairPeaks {
    core::Array<double, 2> peaks;                ///< [a][b]
    core::Array<std::int64_t, 3> displacements;  ///< [a][b][dy, dx] of the maximum
    index_t pairs = 0;                           ///< pairs that were correlated
};

/// Sum of the squares of all values of all planes, in double precision; bitwise independent of the
/// number of threads.
double energy(core::Cpu& cpu, PlanesView<core::Host> planes);

/// Computes sum_p c_p of images a and b, [1][dy][dx], like PairCorrelator, on any device.
using CorrelatePair =
    std::function<void(index_t a, index_t b, core::View<double, 3, core::Host> sums)>;

/// Peaks of all pairs of images; `energies` has an entry for each image. With both signs, c of (b,
/// a) is c of (a, b) at the opposite displacement, and pairs are correlated in one order only.
/// `progress(done, all)`, if any, is called after each pair.
PairPeaks find_pair_peaks(std::span<const double> energies, const Lags& lags,
                          const CorrelatePair& correlate,
                          const std::function<void(index_t done, index_t all)>& progress);

}  // namespace aperture::corr
