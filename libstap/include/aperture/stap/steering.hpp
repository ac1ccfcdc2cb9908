// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/stap/parameters.hpp"

namespace aperture::stap {

/// Phase of a plane wave along a uniform linear array: element n sees
/// exp(+j 2 pi n d/lambda sin(azimuth)), azimuth in degrees from boresight (Ward 1994, eq. 12).
std::vector<std::complex<double>> spatial_steering(int channels, double spacing_wavelengths,
                                                   double azimuth_degrees);

/// The response h_t, t = 0 .. T-1, of Doppler bins k-(T-1)/2+t to a tone at the centre of bin k:
/// the `doppler_bins`-point transform of the tapered tone of `pulses` samples, relative to the
/// middle tap. Only the middle tap is not zero where K = P and there is no taper; using that
/// otherwise costs 2 to 7 dB.
std::vector<std::complex<double>> temporal_response(const signal::Taper& taper, int pulses,
                                                    int doppler_bins, int taps);

/// Space-time steering vectors [vector][channel * T + tap], one per azimuth: the product of
/// `spatial_steering` and `temporal_response`, the order of snapshots.
core::Array<cfloat, 2> steering_vectors(int channels, double spacing_wavelengths,
                                        const std::vector<double>& azimuths_degrees,
                                        const std::vector<std::complex<double>>& response);

/// `count` azimuths in degrees, evenly spaced in sin(azimuth) over the visible range of the array
/// (without the duplicate of the ambiguous end): what is used when no directions are given.
std::vector<double> default_azimuths(int count);

}  // namespace aperture::stap
