// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/pair_peaks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libcorr/cpu/plane_rows.hpp"

namespace aperture::corr {
namespace {

void put(PairPeaks& found, index_t a, index_t b, double peak, index_t dy, index_t dx) {
    found.peaks(a, b) = peak;
    found.displacements(a, b, 0) = dy;
    found.displacements(a, b, 1) = dx;
}

}  // namespace

double energy(core::Cpu& cpu, PlanesView<core::Host> planes) {
    const index_t columns = planes.extent[2];
    const index_t rows = planes.extent[1];
    std::vector<double> of_rows;
    return sum_of_rows(cpu, planes.extent[0] * rows, of_rows, [&](index_t row) {
        double sum = 0;
        for (index_t x = 0; x < columns; ++x) {
            const auto value = static_cast<double>(planes(row / rows, row % rows, x));
            sum += value * value;
        }
        return sum;
    });
}

PairPeaks find_pair_peaks(std::span<const double> energies, const Lags& lags,
                          const CorrelatePair& correlate,
                          const std::function<void(index_t done, index_t all)>& progress) {
    const auto images = static_cast<index_t>(energies.size());
    const Shape extent = lags.extent();
    PairPeaks found;
    found.peaks = core::Array<double, 2>({images, images});
    found.displacements = core::Array<std::int64_t, 3>({images, images, 2});
    core::Array<double, 3> sums({1, extent.rows, extent.columns});
    const index_t all = images * (images - 1) / (lags.both_signs ? 2 : 1);
    for (index_t a = 0; a < images; ++a) {
        const double of_a = energies[static_cast<std::size_t>(a)];
        put(found, a, a, of_a > 0 ? 1 : 0, 0, 0);
        for (index_t b = lags.both_signs ? a + 1 : 0; b < images; ++b) {
            if (b == a) continue;
            const double largest =
                std::sqrt(of_a) * std::sqrt(energies[static_cast<std::size_t>(b)]);
            double peak = 0;
            index_t dy = 0;
            index_t dx = 0;
            if (largest > 0) {
                correlate(a, b, sums);
                const auto at = std::max_element(sums.begin(), sums.end()) - sums.begin();
                // Rounding may exceed 1.
                peak = std::clamp(sums.data()[at] / largest, -1.0, 1.0);
                dy = lags.first_row() + at / extent.columns;
                dx = lags.first_column() + at % extent.columns;
            }
            put(found, a, b, peak, dy, dx);
            if (lags.both_signs) put(found, b, a, peak, -dy, -dx);
            ++found.pairs;
            if (progress) progress(found.pairs, all);
        }
    }
    return found;
}

}  // namespace aperture::corr
