// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/owned.hpp"
#include "aperture/corr/correlator.hpp"

namespace aperture::corr {

/// Sums of products of pairs of images, with one transform of each image. Results and accuracy are
/// those of Correlator with Method::fft, whatever the problem's method. Keeps spectra and planes of
/// all images; `load` and `run` allocate nothing. Results are bitwise independent of the number of
/// threads. On a Gpu `load` and `run` are asynchronous. The executor must outlive the object.
template <class Executor>
class PairCorrelator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument as `validate` does for Method::fft (fp32 only), for less than
    /// one image, on a Gpu for more than 65,535 planes of an image, and if the images need more
    /// memory than is available; core::UnfitDevice if a Gpu has too little.
    PairCorrelator(Executor& executor, const Problem& problem, index_t images);

    /// Stores `planes`, [plane][row][column], as image number `image`, 0 .. images-1; columns are
    /// contiguous. Throws core::InvalidArgument for another number or extent.
    void load(index_t image, PlanesView<Space> planes);

    /// Computes `sums`, [planes, or 1: their sum][dy][dx], dense, of images `a` and `b`, which may
    /// be the same. Throws core::InvalidArgument for images that were not loaded, and for another
    /// extent of `sums`.
    void run(index_t a, index_t b, core::View<double, 3, Space> sums);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class PairCorrelator<core::Cpu>;

}  // namespace aperture::corr
