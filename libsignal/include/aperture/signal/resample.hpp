// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/choices.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::signal {

// For all functions here: images are [row][column]; rows may have any stride, columns must be
// contiguous. Outside the image its border is replicated. `to` must not overlap `from` and may be
// empty. Weights sum to one, so that a constant is preserved up to rounding. A non-finite value
// spreads to all outputs whose windows contain it, even with weight zero. Results are bitwise
// independent of the number of threads. Throws core::InvalidArgument for columns that are not
// contiguous, and if `to` has pixels and `from` has none; on a Gpu also for a blur whose windows
// exceed a block's shared memory: on an H100, from a sigma of 100 pixels or a pyramid's step to a
// fiftieth. Asynchronous on a Gpu.

/// Convolves with a Gaussian of standard deviation `sigma` pixels, 0 to 1000, cut off at a distance
/// of ceil(3 sigma) pixels in each axis and normalised. Sigma 0 copies. `to` has the extents of
/// `from`.
void gaussian_blur(core::Cpu& cpu, core::View<const float, 2, core::Host> from, float sigma,
                   core::View<float, 2, core::Host> to);
void gaussian_blur(core::Gpu& gpu, core::View<const float, 2, core::Device> from, float sigma,
                   core::View<float, 2, core::Device> to);

/// Interpolation between pixels.
enum class Interpolation {
    bilinear,
    bicubic,  ///< cubic convolution with a = -1/2 (Keys 1981); it can overshoot
};
inline constexpr core::Choices<Interpolation, 2> interpolation_choices{
    {{"bilinear", Interpolation::bilinear}, {"bicubic", Interpolation::bicubic}}};

/// Samples `from` on the grid of `to`, any extents to any extents. Both grids divide the same area
/// into cells with the pixels at their centres: column x of `to` is at (x + 0.5) * from_width /
/// to_width - 0.5 in `from`, likewise rows. There is no anti-aliasing filter: blur before shrinking
/// an image, or use `downsample`.
void resize(core::Cpu& cpu, core::View<const float, 2, core::Host> from,
            Interpolation interpolation, core::View<float, 2, core::Host> to);
void resize(core::Gpu& gpu, core::View<const float, 2, core::Device> from,
            Interpolation interpolation, core::View<float, 2, core::Device> to);

/// The next level of an image pyramid: a Gaussian blur followed by bicubic `resize`, in one step.
/// Along an axis of factor f = to extent / from extent sigma is 0.6 sqrt(1 / f^2 - 1)
/// (Meinhardt-Llopis, Sanchez & Kondermann, IPOL 2013); an axis that does not shrink is not
/// blurred.
void downsample(core::Cpu& cpu, core::View<const float, 2, core::Host> from,
                core::View<float, 2, core::Host> to);
void downsample(core::Gpu& gpu, core::View<const float, 2, core::Device> from,
                core::View<float, 2, core::Device> to);

}  // namespace aperture::signal
