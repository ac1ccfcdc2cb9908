// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// How sums of products are computed.
enum class Method {
    direct,  ///< by definition: Theta(n^4) for n x n pixels and as many displacements
    fft,     ///< by real FFTs of zero-padded planes
};

/// Arithmetic of the direct method. (Inputs are fp32, results are fp64.)
enum class Precision {
    fp32,
    tf32x3,  ///< on tensor cores, fp32 as sums of two TF32 numbers, three products each
    fp64,
};

/// A correlation problem.
struct Problem {
    index_t planes = 1;
    Shape image;
    Lags lags;
    Method method = Method::fft;
    bool each_plane = false;  ///< a surface for each plane instead of one for their sum
    index_t images = 1;       ///< per run, each with its planes
    Precision precision = Precision::fp32;

    /// Of an image.
    index_t surfaces() const { return each_plane ? planes : 1; }
};

/// Throws core::InvalidArgument for empty images, for displacements without overlap, and for a
/// precision other than fp32 without the direct method.
void validate(const Problem& problem);

/// Sums of products of two images of one shape, or of one image with itself, at displacements
/// (Bordawekar, Bondhugula & Rao 2010):
///
///     c_p(dy, dx) = sum_{y, x} A_p(y + dy, x + dx) B_p(y, x)
///
/// over the pixels that overlap. Holds all workspace: a second run allocates nothing. The result is
/// bitwise independent of the number of threads. The executor must outlive the object.
///
/// Errors, relative to sqrt(sum A^2 sum B^2) over the whole planes: direct 2e-7, with tf32x3 1e-6,
/// with fp64 1e-13, FFT 5e-7. Errors of the direct method in fp32 grow where products round alike:
/// up to 4e-7 if a single value holds most of a plane's energy, and up to 4e-6 for planes of 64
/// rows and more with few distinct values, such as masks and drawings. A mean that is a large part
/// of a plane's values is subtracted first, and its contribution is added in double precision. So
/// contrast on a bright background is as exact as without one.
template <class Executor>
class Correlator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument as `validate` does, on a Cpu for tf32x3, and on a Gpu for more
    /// than 65,535 planes of all images.
    Correlator(Executor& executor, const Problem& problem);

    /// `sums` is [image][planes, or 1: their sum][dy][dx], dense, with the first two dimensions as
    /// one; `a` and `b` are [image][plane] likewise and may be the same. Asynchronous on a Gpu.
    /// Throws core::InvalidArgument for other extents or strides.
    void run(PlanesView<Space> a, PlanesView<Space> b, core::View<double, 3, Space> sums);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class Correlator<core::Cpu>;

}  // namespace aperture::corr
