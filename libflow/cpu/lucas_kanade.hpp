// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/flow/parameters.hpp"
#include "libflow/cpu/padded_planes.hpp"
#include "libflow/image_model.hpp"

namespace aperture::flow {

/// Flow increments from a window around each pixel: the least-squares solution of the normal
/// equations, with tensors and right-hand sides summed over the window (Lucas & Kanade 1981; in the
/// notation of Bouguet 2001). If the smaller eigenvalue of the summed tensor, per pixel of the
/// window, is below 0.01 squared grey levels a pixel, the window has no texture. Its increment is
/// then zero: the flow of the coarser level stays.
class WindowedLeastSquares {
  public:
    WindowedLeastSquares() = default;
    WindowedLeastSquares(core::Cpu&, Shape shape, const Parameters& p)
        : window_(p.window),
          guard_(window_guard(p.window, p.regularisation)),
          sums_(term_planes, shape) {}

    /// `terms` are those of increments.
    void solve(core::Cpu& cpu, const PaddedPlanes& terms, PaddedPlanes& increment);

  private:
    int window_ = 0;
    WindowGuard guard_;
    PaddedPlanes sums_;
};

}  // namespace aperture::flow
