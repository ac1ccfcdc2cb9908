// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/radial_spectrum.hpp"

#include <algorithm>
#include <climits>
#include <cmath>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "libcorr/cpu/plane_rows.hpp"

namespace aperture::corr {
namespace {

using core::Host;

/// Columns transformed together: 64 bytes of a row.
constexpr index_t columns_at_once = 8;
/// Pairs of rows transformed together.
constexpr index_t pairs_at_once = 8;
/// Maximum number of bands of rows of the spectrum; one thread sums the powers of a band.
constexpr index_t max_bands = 64;

Shape checked(Shape image) {
    core::expects(image.rows >= 1 && image.columns >= 1 && image.rows <= INT_MAX,
                  "spectrum of an image of ", image.rows, " x ", image.columns, " pixels");
    core::expects(image.columns <= INT_MAX / pairs_at_once, image.columns, " columns are too many");
    return image;
}

/// Columns up to the highest frequency, rounded up to whole groups.
index_t pitch_of(index_t columns) { return (columns / 2 / columns_at_once + 1) * columns_at_once; }

}  // namespace

RadialSpectrum::RadialSpectrum(core::Cpu& cpu, Shape image)
    : cpu_(cpu),
      image_(checked(image)),
      rows_(cpu, {static_cast<int>(image.columns), pairs_at_once, pairs_at_once, 1}),
      columns_(cpu, {static_cast<int>(image.rows), columns_at_once, pitch_of(image.columns), 1}),
      spectrum_({image.rows, pitch_of(image.columns)}) {
    std::fill(spectrum_.begin(), spectrum_.end(), 0.0F);
    counts_.resize(static_cast<std::size_t>(std::max(image.rows, image.columns) + 1) / 2 + 1);
    for (index_t k = 0; k < image.rows; ++k) {
        for_rings(k, [&](index_t, std::size_t ring, int weight) { counts_[ring] += weight; });
    }
    // With odd extents the last ring usually lies beyond all frequencies.
    while (counts_.back() == 0) counts_.pop_back();
    powers_.resize(counts_.size());
    band_powers_ = core::Array<double, 2>(
        {std::min(image.rows, max_bands), static_cast<index_t>(counts_.size())});
}

template <class Visit>
void RadialSpectrum::for_rings(index_t row, const Visit& visit) const {
    const auto [rows, columns] = image_;
    // The tolerance keeps frequencies at 1/2 despite rounding.
    constexpr double max_square = 0.25 * (1 + 1e-12);
    const auto extent = static_cast<double>(std::max(rows, columns));
    const double fy = static_cast<double>(std::min(row, rows - row)) / static_cast<double>(rows);
    for (index_t l = 0; l <= columns / 2; ++l) {
        const double fx = static_cast<double>(l) / static_cast<double>(columns);
        const double square = fy * fy + fx * fx;
        if (square > max_square) break;
        const auto ring = static_cast<std::size_t>(std::floor(extent * std::sqrt(square) + 0.5));
        // Negative fx have the same power.
        visit(l, ring, l == 0 || 2 * l == columns ? 1 : 2);
    }
}

void RadialSpectrum::transform_rows(PlanesView<Host> planes, index_t plane, float mean,
                                    index_t first, std::complex<float>* pairs) {
    const index_t rows = image_.rows;
    const index_t columns = image_.columns;
    // Two real sequences are one complex one, whose transform is separated afterwards.
    const auto value = [&](index_t y, index_t x) {
        return y < rows ? planes(plane, y, x) - mean : 0.0F;
    };
    for (index_t x = 0; x < columns; ++x) {
        for (index_t pair = 0; pair < pairs_at_once; ++pair) {
            const index_t y = first + 2 * pair;
            pairs[x * pairs_at_once + pair] = {value(y, x), value(y + 1, x)};
        }
    }
    rows_.run(pairs);
    for (index_t pair = 0; pair < pairs_at_once; ++pair) {
        const index_t y = first + 2 * pair;
        if (y >= rows) return;
        for (index_t l = 0; l <= columns / 2; ++l) {
            const std::complex<float> z = pairs[l * pairs_at_once + pair];
            const std::complex<float> mirrored =
                std::conj(pairs[(columns - l) % columns * pairs_at_once + pair]);
            const std::complex<float> difference = 0.5F * (z - mirrored);
            spectrum_(y, l) = 0.5F * (z + mirrored);
            if (y + 1 < rows) spectrum_(y + 1, l) = {difference.imag(), -difference.real()};
        }
    }
}

void RadialSpectrum::transform(PlanesView<Host> planes, index_t plane, double mean) {
    constexpr index_t rows_at_once = 2 * pairs_at_once;
    const std::size_t bytes =
        static_cast<std::size_t>(image_.columns * pairs_at_once) * sizeof(std::complex<float>);
    core::for_each_task(cpu_, (image_.rows + rows_at_once - 1) / rows_at_once, bytes,
                        [&](index_t group, std::byte* scratch) {
                            transform_rows(planes, plane, static_cast<float>(mean),
                                           group * rows_at_once,
                                           reinterpret_cast<std::complex<float>*>(scratch));
                        });
    core::for_each_task(
        cpu_, spectrum_.extent()[1] / columns_at_once, 0,
        [&](index_t group, std::byte*) { columns_.run(&spectrum_(0, group * columns_at_once)); });
}

void RadialSpectrum::add_powers(double at_zero) {
    const index_t bands = band_powers_.extent()[0];
    const double scale =
        1 / (static_cast<double>(image_.rows) * static_cast<double>(image_.columns));
    core::for_each_task(cpu_, bands, 0, [&](index_t band, std::byte*) {
        double* const powers = &band_powers_(band, 0);
        std::fill_n(powers, powers_.size(), 0.0);
        for (index_t k = band * image_.rows / bands; k < (band + 1) * image_.rows / bands; ++k) {
            for_rings(k, [&](index_t l, std::size_t ring, int weight) {
                const std::complex<double> value(spectrum_(k, l));
                const double power = k == 0 && l == 0 ? at_zero : std::norm(value);
                powers[ring] += weight * scale * power;
            });
        }
    });
    for (std::size_t ring = 0; ring < powers_.size(); ++ring) {
        for (index_t band = 0; band < bands; ++band) {
            next_powers_[ring] += band_powers_(band, static_cast<index_t>(ring));
        }
    }
}

void RadialSpectrum::add(PlanesView<Host> planes) {
    const auto [rows, columns] = image_;
    core::expects_shape("image", planes, {planes.extent[0], rows, columns});
    const index_t width = columns;
    // An image that a checkpoint ends leaves nothing.
    next_powers_ = powers_;
    for (index_t p = 0; p < planes.extent[0]; ++p) {
        const double sum = sum_of_rows(cpu_, rows, row_sums_, [&](index_t y) {
            double of_row = 0;
            for (index_t x = 0; x < width; ++x) of_row += static_cast<double>(planes(p, y, x));
            return of_row;
        });
        // Without their mean, values in single precision lose none of their contrast.
        transform(planes, p, sum / (static_cast<double>(rows) * static_cast<double>(columns)));
        add_powers(sum * sum);
    }
    powers_.swap(next_powers_);
    ++images_;
}

RadialPower RadialSpectrum::average() const {
    core::expects(images_ > 0, "the spectrum requires at least 1 image");
    RadialPower average;
    const auto extent = static_cast<double>(std::max(image_.rows, image_.columns));
    for (std::size_t ring = 0; ring < counts_.size(); ++ring) {
        average.frequency.push_back(static_cast<double>(ring) / extent);
        average.power.push_back(powers_[ring] / static_cast<double>(counts_[ring]) /
                                static_cast<double>(images_));
    }
    average.counts = counts_;
    return average;
}

}  // namespace aperture::corr
