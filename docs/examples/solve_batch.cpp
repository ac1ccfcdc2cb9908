// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Fits a parabola to the samples of each of a thousand signals by least squares, all at once.
#include <cmath>
#include <cstdio>
#include <exception>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/dense/batch_orthogonal.hpp"

namespace core = aperture::core;
namespace dense = aperture::dense;

namespace {

void fit_parabolas() {
    core::Cpu cpu;
    constexpr core::index_t signals = 1000;
    constexpr core::index_t samples = 16;

    // A x = b for each signal: a is [signal][sample][power], b and x are [signal][side][entry].
    core::Array<float, 3> a({signals, samples, 3});
    core::Array<float, 3> b({signals, 1, samples});
    core::Array<float, 3> x({signals, 1, 3});
    core::Array<int, 1> info({signals});
    for (core::index_t s = 0; s < signals; ++s) {
        for (core::index_t i = 0; i < samples; ++i) {
            const float t = static_cast<float>(i) / samples;
            for (int power = 0; power < 3; ++power) {
                a(s, i, power) = std::pow(t, static_cast<float>(power));
            }
            b(s, 0, i) = 1 + 2 * t + static_cast<float>(s) * t * t;
        }
    }
    dense::least_squares<float>(cpu, a.view(), b.view(), x.view(), info.view());
    std::printf("signal 500: %.3f + %.3f t + %.2f t^2, info %d\n", x(500, 0, 0), x(500, 0, 1),
                x(500, 0, 2), info(500));
}

}  // namespace

int main() {
    try {
        fit_parabolas();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
