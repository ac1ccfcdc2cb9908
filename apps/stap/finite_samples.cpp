// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/finite_samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace aperture::apps {

using core::index_t;

NonFiniteSamples find_non_finite(core::View<const std::complex<float>, 3, core::Host> cube,
                                 int threads) {
    const index_t pulses = cube.extent[1];
    const index_t range_cells = cube.extent[2];
    const index_t rows = cube.extent[0] * pulses;
    index_t count = 0;
    index_t first_row = std::numeric_limits<index_t>::max();
#pragma omp parallel for num_threads(threads) reduction(+ : count) reduction(min : first_row)
    for (index_t row = 0; row < rows; ++row) {
        const auto* samples =
            cube.data + row / pulses * cube.stride[0] + row % pulses * cube.stride[1];
        index_t in_row = 0;
        for (index_t r = 0; r < range_cells; ++r) {
            const auto sample = samples[r * cube.stride[2]];
            in_row += !(std::isfinite(sample.real()) && std::isfinite(sample.imag()));
        }
        count += in_row;
        if (in_row > 0) first_row = std::min(first_row, row);
    }
    NonFiniteSamples found{count, {}};
    if (count == 0) return found;
    found.first = {first_row / pulses, first_row % pulses, 0};
    auto& [channel, pulse, range_cell] = found.first;
    while (std::isfinite(cube(channel, pulse, range_cell).real()) &&
           std::isfinite(cube(channel, pulse, range_cell).imag())) {
        ++range_cell;
    }
    return found;
}

}  // namespace aperture::apps
