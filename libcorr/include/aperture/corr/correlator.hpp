// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// How sums of products are found.
enum class Method {
    direct,  ///< as they are defined: Theta(n^4) for n x n pixels and as many displacements
    fft,     ///< by real transforms of planes with zeros behind them
};

/// In what the products of the direct method are formed and added. (Inputs are fp32, results are
/// fp64.)
enum class Precision {
    fp32,
    tf32x3,  ///< on tensor cores, fp32 numbers as sums of two TF32 numbers, of three products each
    fp64,
};

/// How the direct method holds planes on a GPU (Bordawekar, Bondhugula & Rao 2010).
enum class PlaneLayout {
    separate,  ///< one after the other
    packed,    ///< four together, pixel by pixel
};

/// How the direct method works.
struct DirectOptions {
    Precision precision = Precision::fp32;
    PlaneLayout layout = PlaneLayout::separate;  ///< packed: fp32 and one surface for all planes
    /// Displacements that a warp of a GPU takes at once: 32 x 64, 64 x 32 or 16 x 128, of tf32x3 16
    /// x 128 or 16 x 64. The fastest where nothing is said.
    std::optional<Shape> tile = {};
};

/// What is correlated.
struct Problem {
    index_t planes = 1;
    Shape image;
    Lags lags;
    Method method = Method::fft;
    bool each_plane = false;    ///< a surface for each plane instead of one for all
    index_t images = 1;         ///< that a run takes, each with its planes
    DirectOptions direct = {};  ///< of Method::direct
};

/// Throws core::InvalidArgument for empty images, for displacements that leave no overlap, and for
/// options that no executor has.
void validate(const Problem& problem);

/// Sums of products of two images of one shape, or of one image with itself, at displacements
/// (Bordawekar, Bondhugula & Rao 2010):
///
///     c_p(dy, dx) = sum_{y, x} A_p(y + dy, x + dx) B_p(y, x)
///
/// over the pixels that both have. Holds all workspace: a second run allocates nothing. The result
/// has the same bits for every number of threads.
///
/// Errors, relative to sqrt(sum A^2 sum B^2) over the whole planes: direct 2e-7, with tf32x3 1e-6,
/// with fp64 1e-13, FFT 5e-7. The direct method in fp32 errs by more where products round alike: by
/// up to 4e-7 where a single value holds most of a plane's energy, and by up to 4e-6 for planes of
/// 64 rows and more that have a few values only, as masks and drawings do. Planes
/// whose mean is a large part of their values are correlated without it, and what it contributes is
/// added in double precision, so that contrast on a bright ground is as exact as without one.
template <class Executor>
class Correlator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument as `validate` does, and on a Cpu for direct options that only a
    /// GPU has.
    Correlator(Executor& executor, const Problem& problem);
    ~Correlator();
    Correlator(Correlator&&) noexcept;
    Correlator& operator=(Correlator&&) noexcept;

    /// `sums` is [image][planes, or 1: their sum][dy][dx], dense, the first two as one extent; `a`
    /// and `b` are [image][plane] alike and may be the same. On a Gpu the call is asynchronous.
    void run(PlanesView<Space> a, PlanesView<Space> b, core::View<double, 3, Space> sums);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

template <>
Correlator<core::Cpu>::Correlator(core::Cpu& cpu, const Problem& problem);
template <>
Correlator<core::Cpu>::~Correlator();
template <>
Correlator<core::Cpu>::Correlator(Correlator&&) noexcept;
template <>
Correlator<core::Cpu>& Correlator<core::Cpu>::operator=(Correlator&&) noexcept;
template <>
void Correlator<core::Cpu>::run(PlanesView<core::Host> a, PlanesView<core::Host> b,
                                core::View<double, 3, core::Host> sums);

}  // namespace aperture::corr
