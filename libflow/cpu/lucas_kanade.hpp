// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

/// What a window around each pixel adds to its flow: the least-squares solution of the normal
/// equations, tensors and right-hand sides summed over the window (Lucas & Kanade 1981; in the
/// notation of Bouguet 2001). Where the smaller eigenvalue of the summed tensor, per pixel of the
/// window, is below a grey level squared over a hundred, the window has no texture to hold on to
/// and adds nothing: the flow of the coarser level stays.
class WindowedLeastSquares {
  public:
    WindowedLeastSquares() = default;
    WindowedLeastSquares(core::Cpu& cpu, Shape shape, int window, double regularisation)
        : cpu_(&cpu), window_(window), regularisation_(regularisation), sums_(5, shape) {}

    /// `terms` are J11, J12, J22 and both right-hand sides of increments.
    void solve(const PaddedPlanes& terms, PaddedPlanes& increment);

  private:
    core::Cpu* cpu_ = nullptr;
    int window_ = 9;
    double regularisation_ = 0;
    PaddedPlanes sums_;
};

}  // namespace aperture::flow
