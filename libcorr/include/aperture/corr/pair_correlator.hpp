// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/owned.hpp"
#include "aperture/corr/correlator.hpp"

namespace aperture::corr {

/// Sums of products of pairs of images, with one transform of each image. Results and accuracy are
/// those of Correlator with Method::fft, whatever the problem's method. Keeps spectra and planes of
/// all images; `load` and `run` allocate nothing. Results are bitwise independent
/// of the number of threads. On a Gpu `load` and `run` are asynchronous.
template <class Executor>
class PairCorrelator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument as `validate` does, and if `images` images need more memory
    /// than is available; core::UnfitDevice if a Gpu has too little.
    PairCorrelator(Executor& executor, const Problem& problem, index_t images);

    /// Stores `planes`, [plane][row][column], as image number `image`, 0 .. images-1; columns are
    /// contiguous.
    void load(index_t image, PlanesView<Space> planes);

    /// Computes `sums`, [planes, or 1: their sum][dy][dx], dense, of images `a` and `b`, which may
    /// be the same. Throws core::InvalidArgument for images that were not loaded.
    void run(index_t a, index_t b, core::View<double, 3, Space> sums);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class PairCorrelator<core::Cpu>;

}  // namespace aperture::corr
