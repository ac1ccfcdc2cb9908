// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace aperture::render {

// Uses only additions, multiplications, divisions and floor, which yield the same bits on every
// machine, unlike most functions of the C library.

/// A random number in [0, 1) for a seed and a position (splitmix64, Steele, Lea & Flood 2014).
inline double random_at(std::uint64_t seed, std::int64_t x, std::int64_t y) {
    std::uint64_t state = seed;
    for (const std::int64_t part : {x, y}) {
        state += 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(part);
        state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
        state = (state ^ (state >> 27)) * 0x94d049bb133111ebU;
        state ^= state >> 31;
    }
    return static_cast<double>(state >> 11) * 0x1p-53;
}

/// Noise that is smooth between the points of a grid of spacing 1, in [0, 1].
inline double smooth_noise(std::uint64_t seed, double x, double y) {
    const auto weight = [](double t) { return t * t * t * (t * (6 * t - 15) + 10); };
    const double column = std::floor(x);
    const double row = std::floor(y);
    const auto at = [&](int right, int below) {
        return random_at(seed, static_cast<std::int64_t>(column) + right,
                         static_cast<std::int64_t>(row) + below);
    };
    const double across = weight(x - column);
    const double above = at(0, 0) + across * (at(1, 0) - at(0, 0));
    const double below = at(0, 1) + across * (at(1, 1) - at(0, 1));
    return above + weight(y - row) * (below - above);
}

/// An endless texture with detail from 8 to 32 pixels in size, in [0, 1].
inline double texture(std::uint64_t seed, double x, double y) {
    return 0.4 * smooth_noise(seed, x / 32, y / 32) +
           0.35 * smooth_noise(seed + 1, x / 16, y / 16) +
           0.25 * smooth_noise(seed + 2, x / 8, y / 8);
}

}  // namespace aperture::render
