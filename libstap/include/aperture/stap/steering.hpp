// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/stap/parameters.hpp"

namespace aperture::stap {

/// Response of a uniform linear array to a plane wave: element n has phase factor exp(+j 2 pi n
/// d/lambda sin(azimuth)), azimuth in degrees from boresight (Ward 1994, eq. 12).
std::vector<std::complex<double>> spatial_steering(int channels, double spacing_wavelengths,
                                                   double azimuth_degrees);

/// The response h_t, t = 0 .. T-1, of Doppler bins k-(T-1)/2+t to a tone at the centre of bin k:
/// the `doppler_bins`-point transform of the tapered tone of `pulses` samples, relative to the
/// middle tap. With K = P and no taper only the middle tap is nonzero; assuming that in other cases
/// costs 2 to 7 dB.
std::vector<std::complex<double>> temporal_response(const signal::Taper& taper, int pulses,
                                                    int doppler_bins, int taps);

/// Space-time steering vectors [vector][channel * T + tap], one per azimuth, in the order of
/// snapshots: the product of `spatial_steering` and `temporal_response`.
core::Array<cfloat, 2> steering_vectors(int channels, double spacing_wavelengths,
                                        const std::vector<double>& azimuths_degrees,
                                        const std::vector<std::complex<double>>& response);

/// Default directions: `count` azimuths in degrees, evenly spaced in sin(azimuth) over the visible
/// range of the array (without the duplicate of the ambiguous end).
std::vector<double> default_azimuths(int count);

}  // namespace aperture::stap
