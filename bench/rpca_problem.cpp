// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/rpca_problem.hpp"

#include <cmath>
#include <cstdlib>
#include <random>

namespace aperture::bench {

using core::Array;

Array<float, 2> video(const Size& size) {
    std::mt19937 generator(5);
    std::normal_distribution<float> noise(0, 2);
    Array<float, 2> frames({size.frames, size.values});
    for (index_t f = 0; f < size.frames; ++f) {
        const float light = 1 + 0.05F * std::sin(0.1F * static_cast<float>(f));
        for (index_t v = 0; v < size.values; ++v) {
            const float scene = 120 + 60 * std::sin(0.01F * static_cast<float>(v));
            const index_t object = size.values * f / size.frames;
            frames(f, v) = std::abs(v - object) < size.values / 40
                               ? 20
                               : std::round(scene * light + noise(generator));
        }
    }
    return frames;
}

double residual_of(const Array<float, 2>& m, const Array<float, 2>& low_rank,
                   const Array<float, 2>& sparse) {
    double square = 0;
    double error = 0;
    for (index_t i = 0; i < m.size(); ++i) {
        const double value = m.data()[i];
        const double left = value - low_rank.data()[i] - sparse.data()[i];
        square += value * value;
        error += left * left;
    }
    return std::sqrt(error / square);
}

std::string name_of(const Size& size) {
    return std::to_string(size.values) + "x" + std::to_string(size.frames);
}

}  // namespace aperture::bench
