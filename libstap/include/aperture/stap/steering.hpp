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

/// Where an element of an array is, in wavelengths: x to the right, y up, z towards boresight.
struct ElementPosition {
    double x = 0;
    double y = 0;
    double z = 0;
};

/// Azimuth to the right of boresight, elevation above the plane of x and z; both -90 .. 90.
struct Direction {
    double azimuth_degrees = 0;
    double elevation_degrees = 0;
};

/// Elements along x; the first one is at the origin.
std::vector<ElementPosition> uniform_line(int channels, double spacing_wavelengths);

/// Response of an array of any geometry to a plane wave: an element at p has the phase factor
/// exp(+j 2 pi p.u), u = (sin az cos el, sin el, cos az cos el) (Van Trees 2002, section 2.2).
/// Throws core::InvalidArgument for no elements, for numbers that are not finite and for angles
/// outside -90 .. 90.
std::vector<std::complex<double>> spatial_steering(const std::vector<ElementPosition>& elements,
                                                   Direction direction);

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

/// The same for an array of any geometry, one per direction.
core::Array<cfloat, 2> steering_vectors(const std::vector<ElementPosition>& elements,
                                        const std::vector<Direction>& directions,
                                        const std::vector<std::complex<double>>& response);

/// Default directions: `count` azimuths in degrees, evenly spaced in sin(azimuth) over the visible
/// range of the array (without the duplicate of the ambiguous end).
std::vector<double> default_azimuths(int count = 16);

/// Of a uniform line whose spacing is unknown.
inline constexpr double default_spacing_wavelengths = 0.5;

}  // namespace aperture::stap
