// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace aperture::stap::cpu {

/// Circular complex normal numbers of unit power, an independent stream per key: the samples of a
/// range cell do not depend on those of others, nor on the standard library's distributions, which
/// differ between systems.
class NormalStream {
  public:
    explicit NormalStream(std::initializer_list<std::uint64_t> key) {
        for (std::uint64_t part : key) state_ = mix(state_ ^ mix(part + golden_ratio));
    }

    /// Uniform on (0, 1].
    double uniform() {
        state_ += golden_ratio;
        return static_cast<double>((mix(state_) >> 11) + 1) * 0x1p-53;
    }

    /// Box & Muller 1958: the modulus squared is exponential, the phase uniform.
    std::complex<double> normal() {
        const double modulus = std::sqrt(-std::log(uniform()));
        return std::polar(modulus, 2 * std::numbers::pi * uniform());
    }

  private:
    static constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;

    /// The output function of SplitMix64 (Steele, Lea & Flood 2014).
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_ = 0;
};

}  // namespace aperture::stap::cpu
