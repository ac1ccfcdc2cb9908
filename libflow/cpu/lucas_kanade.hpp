// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

/// Flow increments from a window around each pixel: the least-squares solution of the normal
/// equations, with tensors and right-hand sides summed over the window (Lucas & Kanade 1981; in the
/// notation of Bouguet 2001). If the smaller eigenvalue of the summed tensor, per pixel of the
/// window, is below 0.01 squared grey levels a pixel, the window has no texture. Its increment is
/// then zero: the flow of the coarser level stays.
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
