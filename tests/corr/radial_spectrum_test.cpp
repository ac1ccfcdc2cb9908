// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/radial_spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "aperture/core/error.hpp"
#include "tests/corr/oracle.hpp"

namespace aperture::corr {
namespace {

RadialPower spectrum_of(const Planes& planes, int threads = 2) {
    core::Cpu cpu(threads);
    RadialSpectrum spectrum(cpu, {planes.extent()[1], planes.extent()[2]});
    spectrum.add(planes);
    return spectrum.average();
}

/// Sums and counts of rings by the definition, one sum per frequency. Rings are found in integers:
/// (2 r - 1)^2 <= (2 n |f|)^2 rows^2 columns^2 / (rows columns)^2 < (2 r + 1)^2.
std::map<std::int64_t, std::pair<double, std::int64_t>> rings_by_definition(const Planes& planes) {
    const auto [count, rows, columns] = planes.extent();
    const std::int64_t n = std::max(rows, columns);
    const std::int64_t whole = rows * columns;
    std::map<std::int64_t, std::pair<double, std::int64_t>> rings;
    for (index_t k = -((rows - 1) / 2); k <= rows / 2; ++k) {
        for (index_t l = -((columns - 1) / 2); l <= columns / 2; ++l) {
            // |f|^2 whole^2.
            const std::int64_t square = k * columns * k * columns + l * rows * l * rows;
            if (4 * square > whole * whole) continue;
            std::int64_t ring = 0;
            while (4 * n * n * square >= (2 * ring + 1) * (2 * ring + 1) * whole * whole) ++ring;
            double power = 0;
            for (index_t p = 0; p < count; ++p) {
                std::complex<double> sum = 0;
                for (index_t y = 0; y < rows; ++y) {
                    for (index_t x = 0; x < columns; ++x) {
                        const double turns =
                            static_cast<double>(k * y) / static_cast<double>(rows) +
                            static_cast<double>(l * x) / static_cast<double>(columns);
                        sum += static_cast<double>(planes(p, y, x)) *
                               std::polar(1.0, -2 * std::numbers::pi * turns);
                    }
                }
                power += std::norm(sum) / static_cast<double>(whole);
            }
            rings[ring].first += power;
            ++rings[ring].second;
        }
    }
    return rings;
}

class SpectraOf : public testing::TestWithParam<Shape> {};
// Prime, even and odd extents. In 4 x 5 a frequency of 1/2 is alone in its ring.
INSTANTIATE_TEST_SUITE_P(Shapes, SpectraOf,
                         testing::Values(Shape{1, 1}, Shape{1, 2}, Shape{2, 1}, Shape{2, 2},
                                         Shape{1, 30}, Shape{31, 1}, Shape{4, 5}, Shape{16, 16},
                                         Shape{13, 29}, Shape{20, 15}, Shape{30, 40}),
                         [](const auto& instance) {
                             return std::to_string(instance.param.rows) + "x" +
                                    std::to_string(instance.param.columns);
                         });

TEST_P(SpectraOf, AreTheDefinitions) {
    for (const float mean : {0.0F, 300.0F}) {
        const Planes planes = normal_planes(2, GetParam(), 1, mean);
        const auto expected = rings_by_definition(planes);
        const RadialPower found = spectrum_of(planes);
        const auto n = static_cast<double>(std::max(GetParam().rows, GetParam().columns));
        ASSERT_EQ(found.power.size(), expected.size());
        ASSERT_EQ(found.frequency.size(), expected.size());
        for (std::size_t ring = 0; ring < found.power.size(); ++ring) {
            const auto& [power, count] = expected.at(static_cast<std::int64_t>(ring));
            EXPECT_DOUBLE_EQ(found.frequency[ring], static_cast<double>(ring) / n);
            EXPECT_EQ(found.counts[ring], count) << ring;
            const double mean_power = power / static_cast<double>(count);
            // Rounding from the subtraction of a mean of 300 and from the transforms.
            EXPECT_NEAR(found.power[ring], mean_power, 1e-5 * mean_power + 1e-5) << ring;
        }
    }
}

TEST(RadialSpectra, OfWhiteNoiseAreFlat) {
    // 3 planes of variance 4; m independent frequencies have the deviation 12 / sqrt(3 m).
    const RadialPower found = spectrum_of(normal_planes(3, {211, 191}, 2, 0, 2));
    ASSERT_EQ(found.power.size(), 106U);
    for (std::size_t ring = 1; ring < found.power.size(); ++ring) {
        const double independent = static_cast<double>(found.counts[ring]) / 2;
        EXPECT_NEAR(found.power[ring], 12, 5 * 12 / std::sqrt(3 * independent)) << ring;
    }
}

TEST(RadialSpectra, OfASinusoidHaveItsFrequencyAndPower) {
    // Prime extents. 6 cycles down and 8 across: n f = 10.1, in a single ring.
    const Shape shape{97, 101};
    Planes planes({1, shape.rows, shape.columns});
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const double turns =
                6.0 * static_cast<double>(y) / 97 + 8.0 * static_cast<double>(x) / 101;
            planes(0, y, x) = static_cast<float>(100 + 2 * std::cos(2 * std::numbers::pi * turns));
        }
    }
    const RadialPower found = spectrum_of(planes);
    double all = 0;
    for (std::size_t ring = 1; ring < found.power.size(); ++ring) {
        const double power = found.power[ring] * static_cast<double>(found.counts[ring]);
        all += power;
        if (ring != 10) {
            EXPECT_LT(power, 1e-6 * 97 * 101) << ring;
        }
    }
    // Parseval: all frequencies of the contrast are below 1/2; its mean square is 2^2 / 2.
    EXPECT_NEAR(all, 2 * 97 * 101, 1e-3);
    EXPECT_NEAR(found.power[0], 100.0 * 100 * 97 * 101, 1);
    EXPECT_NEAR(found.frequency[10], 10.0 / 101, 1e-15);
}

TEST(RadialSpectra, OfOneRowKeepItsEnergy) {
    // A single row has no frequencies above 1/2.
    for (const Shape shape : {Shape{1, 1009}, Shape{1009, 1}, Shape{1, 1024}}) {
        const Planes planes = normal_planes(2, shape, 3, 5);
        double energy = 0;
        for (const float value : planes)
            energy += static_cast<double>(value) * static_cast<double>(value);
        const RadialPower found = spectrum_of(planes);
        double all = 0;
        for (std::size_t ring = 0; ring < found.power.size(); ++ring) {
            all += found.power[ring] * static_cast<double>(found.counts[ring]);
        }
        EXPECT_NEAR(all, energy, 1e-6 * energy);
    }
}

TEST(RadialSpectra, OfSeveralImagesAreTheirMeanOnAnyNumberOfThreads) {
    const Shape shape{70, 45};
    const Planes first = normal_planes(2, shape, 4);
    const Planes second = normal_planes(2, shape, 5, 1, 3);
    const RadialPower of_first = spectrum_of(first);
    const RadialPower of_second = spectrum_of(second);
    const auto both = [&](int threads) {
        core::Cpu cpu(threads);
        RadialSpectrum spectrum(cpu, shape);
        EXPECT_THROW(spectrum.average(), core::InvalidArgument);
        spectrum.add(first);
        spectrum.add(second);
        EXPECT_THROW(spectrum.add(Planes({2, 70, 44})), core::InvalidArgument);
        return spectrum.average().power;
    };
    const std::vector<double> found = both(1);
    EXPECT_EQ(found, both(3));
    for (std::size_t ring = 0; ring < found.size(); ++ring) {
        EXPECT_NEAR(found[ring], (of_first.power[ring] + of_second.power[ring]) / 2,
                    1e-12 * found[ring]);
    }
    core::Cpu cpu(1);
    EXPECT_THROW(RadialSpectrum(cpu, {0, 5}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::corr
