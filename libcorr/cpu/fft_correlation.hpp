// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/corr/correlator.hpp"
#include "libsignal/cpu/fftw_plan.hpp"

namespace aperture::corr {

/// The planes of one image as they are to be correlated: each less its ground.
struct GroundedPlanes {
    PlanesView<core::Host> planes;
    const double* ground;  ///< one a plane
};

/// Sums of products by real transforms that are long enough for no displacement to wrap around.
/// Rows of zeros are not transformed, spectra of planes are added before the one inverse transform,
/// and only rows of wanted displacements are transformed back.
class FftCorrelation {
  public:
    FftCorrelation() = default;
    FftCorrelation(core::Cpu& cpu, const Problem& problem);

    /// Writes `sums`, [planes or 1][dy][dx]; `same` where both images are one.
    void run(core::Cpu& cpu, const GroundedPlanes& a, const GroundedPlanes& b, bool same,
             core::View<double, 3, core::Host> sums);

  private:
    using Complex = std::complex<float>;

    void transform_rows(core::Cpu& cpu, const GroundedPlanes& image,
                        core::Array<Complex, 3>& spectra) const;
    void correlate_columns(core::Cpu& cpu, bool same);
    void transform_back(core::Cpu& cpu, core::View<double, 3, core::Host> sums) const;
    index_t surfaces() const { return problem_.each_plane ? problem_.planes : 1; }

    Problem problem_;
    Shape size_;  ///< of the transforms
    signal::FftwPlan forward_rows_;
    signal::FftwPlan forward_columns_;
    signal::FftwPlan backward_columns_;
    signal::FftwPlan backward_rows_;
    core::Array<Complex, 3> spectra_a_;  ///< [plane][row][frequency]
    core::Array<Complex, 3> spectra_b_;
    core::Array<Complex, 3> products_;  ///< [surface][dy][frequency]
};

/// The least number from `least` on without prime factors above 7.
index_t good_fft_size(index_t least);

}  // namespace aperture::corr
