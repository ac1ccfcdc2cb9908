// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/stap/parameters.hpp"

namespace aperture::stap {

/// One of the PERFECT suite's sizes: "small", "medium" or "large".
struct PerfectSize {
    CubeShape shape;
    int doppler_bins = 0;
    int training_block = 0;
    int temporal_taps = 3;
    int steering_vectors = 16;
};
/// Throws core::InvalidArgument for another name.
PerfectSize perfect_size(std::string_view name);

/// PERFECT's white input: 1e6 (U + jU), U uniform on [0, 1) from the 53-bit Mersenne twister with
/// seed 5489, all real parts first, then all imaginary ones, in C order.
core::Array<cfloat, 3> perfect_cube(const CubeShape& shape);

/// A target with its range cell, Doppler and azimuth.
struct Target {
    index_t range_cell = 0;
    double doppler = 0;  ///< cycles per pulse, -0.5 .. 0.5
    double azimuth_degrees = 0;
    double snr_db = 0;  ///< per element and pulse
};

/// Barrage noise: white in time, a plane wave in space.
struct Jammer {
    double azimuth_degrees = 0;
    double jnr_db = 0;  ///< per element and pulse
};

/// Side-looking airborne clutter as in Ward 1994, sections 2.6 and 2.7. `patches` independent
/// scatterers of equal power per range ring are evenly spaced in azimuth from -90 to 90 degrees.
/// Their Doppler is beta (d / (lambda/2)) / 2 sin(azimuth) in cycles per pulse. Intrinsic clutter
/// motion decorrelates the pulses with a Gaussian spectrum. Receiver noise has unit power per
/// element and pulse.
struct ClutterScene {
    CubeShape shape;  ///< pulse domain
    double spacing_wavelengths = 0.5;
    double cnr_db = 40;  ///< per element and pulse, all patches together; -infinity for none
    double beta = 1;  ///< half-wavelengths flown per pulse over element spacing in half-wavelengths
    double motion_std = 0;  ///< standard deviation of the clutter spectrum, cycles per pulse
    int patches = 361;
    std::vector<Jammer> jammers;
    std::vector<Target> targets;
    std::uint64_t seed = 1;
};

/// Simulates the scene; the same seed gives the same cube for every number of threads. Throws
/// core::InvalidArgument for an empty scene, one in the Doppler domain, and a parameter that is not
/// a number or outside its range.
core::Array<cfloat, 3> simulate(core::Cpu& cpu, const ClutterScene& scene);

/// The true covariance of clutter, jammers and noise in `simulate`, in element-pulse space: [L P][L
/// P] with index c P + p. Throws as `simulate`.
core::Array<std::complex<double>, 2> true_covariance(const ClutterScene& scene);

}  // namespace aperture::stap
