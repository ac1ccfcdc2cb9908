// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <complex>
#include <random>

#include "aperture/core/array.hpp"
#include "aperture/stap/parameters.hpp"

namespace aperture::stap {

/// Independent complex normal samples of unit power, in a host array of any rank.
template <int Rank>
core::Array<cfloat, Rank> random_normal(core::Extents<Rank> extents, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<float> normal(0.0f, std::sqrt(0.5f));
    core::Array<cfloat, Rank> samples(extents);
    for (cfloat& sample : samples) {
        const float re = normal(generator);
        sample = {re, normal(generator)};
    }
    return samples;
}

}  // namespace aperture::stap
