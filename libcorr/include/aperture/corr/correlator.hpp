// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// How sums of products are found.
enum class Method {
    direct,  ///< as they are defined: Theta(n^4) for n x n pixels and as many displacements
    fft,     ///< by real transforms of planes with zeros behind them
};

/// What is correlated.
struct Problem {
    index_t planes = 1;
    Shape image;
    Lags lags;
    Method method = Method::fft;
    bool each_plane = false;  ///< a surface for each plane instead of one for all
};

/// Throws core::InvalidArgument for empty images and for displacements that leave no overlap.
void validate(const Problem& problem);

/// Sums of products of two images of one shape, or of one image with itself, at displacements
/// (Bordawekar, Bondhugula & Rao 2010):
///
///     c_p(dy, dx) = sum_{y, x} A_p(y + dy, x + dx) B_p(y, x)
///
/// over the pixels that both have. Holds all workspace: a second run allocates nothing. The result
/// has the same bits for every number of threads.
///
/// Errors, relative to sqrt(sum A^2 sum B^2) over the whole planes: direct 2e-7, FFT 5e-7; up to
/// 4e-7 by the direct method where a single value holds most of a plane's energy. Planes
/// whose mean is a large part of their values are correlated without it, and what it contributes is
/// added in double precision, so that contrast on a bright ground is as exact as without one.
template <class Executor>
class Correlator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument as `validate` does.
    Correlator(Executor& executor, const Problem& problem);
    ~Correlator();
    Correlator(Correlator&&) noexcept;
    Correlator& operator=(Correlator&&) noexcept;

    /// `sums` is [planes, or 1: their sum][dy][dx], dense. `a` and `b` may be the same.
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
