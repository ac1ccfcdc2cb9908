// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "libcorr/gpu/fused_rows.cuh"

namespace aperture::corr {
namespace {

using core::Complex;
using core::index_t;
using Number = std::complex<double>;

struct Rows {
    int planes;  ///< or surfaces
    int rows;
    int columns;
    int length;  ///< of the transforms
};
std::ostream& operator<<(std::ostream& out, const Rows& r) {
    return out << r.planes << "x" << r.rows << "x" << r.columns << "_" << r.length;
}

class SimtRows : public testing::TestWithParam<Rows> {};
INSTANTIATE_TEST_SUITE_P(Cases, SimtRows,
                         testing::Values(Rows{1, 1, 1, 1}, Rows{1, 1, 1, 2}, Rows{2, 1, 7, 14},
                                         Rows{3, 5, 6, 6}, Rows{2, 6, 1, 30}, Rows{2, 9, 100, 128},
                                         Rows{1, 3, 48, 49}, Rows{2, 13, 250, 750}));

Number root(index_t i, int length) {
    return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(i % length) / length);
}
std::vector<float> random_numbers(index_t count) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& number : numbers) number = normal(random);
    return numbers;
}

TEST_P(SimtRows, AreTransformedWithoutTheirGround) {
    const auto [planes, rows, columns, length] = GetParam();
    // Rows and planes have gaps, whose contents must not matter.
    const index_t pitch = columns + 3;
    const index_t stride = rows * pitch + 5;
    std::vector<float> pixels = random_numbers(planes * stride);
    std::vector<gpu::PlaneGround> grounds;
    for (int p = 0; p < planes; ++p) grounds.push_back({static_cast<float>(p + 1), 0.0F});
    const int frequencies = length / 2 + 1;
    for (const core::LaneOrder order : {core::LaneOrder::forward, core::LaneOrder::random}) {
        core::Simt simt(order);
        std::vector<Complex<float>> spectra(
            static_cast<std::size_t>(index_t{rows} * planes * frequencies), Complex<float>(99));
        gpu::RowTransforms<core::Simt> transforms(simt, length);
        ASSERT_TRUE(transforms.possible());
        transforms.forward({pixels.data(), {planes, rows, columns}, {stride, pitch, 1}}, planes,
                           grounds.data(), spectra.data());
        double error = 0;
        double largest = 0;
        for (int y = 0; y < rows; ++y) {
            for (int p = 0; p < planes; ++p) {
                for (int k = 0; k < frequencies; ++k) {
                    Number sum = 0;
                    for (int x = 0; x < columns; ++x) {
                        const auto i = static_cast<std::size_t>(p * stride + y * pitch + x);
                        sum += static_cast<double>(pixels[i] - static_cast<float>(p + 1)) *
                               std::conj(root(index_t{k} * x, length));
                    }
                    const auto at =
                        static_cast<std::size_t>((index_t{y} * planes + p) * frequencies + k);
                    error = std::max(error, std::abs(sum - Number(spectra[at].re, spectra[at].im)));
                    largest = std::max(largest, std::abs(sum));
                }
            }
        }
        EXPECT_LE(error, 5e-7 * largest);
    }
}

TEST_P(SimtRows, ComeBackAsTheDisplacementsThatAreWanted) {
    const auto [surfaces, rows, columns, length] = GetParam();
    const int frequencies = length / 2 + 1;
    const std::vector<float> parts = random_numbers(2 * index_t{rows} * surfaces * frequencies);
    std::vector<Complex<float>> spectra;
    for (std::size_t i = 0; i < parts.size(); i += 2) spectra.push_back({parts[i], parts[i + 1]});
    for (const int first_column : {0, -columns / 2, 1 - columns}) {
        core::Simt simt;
        gpu::RowTransforms<core::Simt> transforms(simt, length);
        std::vector<double> sums(static_cast<std::size_t>(index_t{surfaces} * rows * columns),
                                 std::nan(""));
        transforms.back(spectra.data(), surfaces, {rows, first_column, columns, 0.25}, sums.data());
        double error = 0;
        double largest = 0;
        for (int y = 0; y < rows; ++y) {
            for (int s = 0; s < surfaces; ++s) {
                const auto* const row = spectra.data() + (index_t{y} * surfaces + s) * frequencies;
                for (int j = 0; j < columns; ++j) {
                    const index_t x = (first_column + j + length) % length;
                    double sum = 0;
                    for (int k = 0; k < length; ++k) {
                        // The frequencies 0 and length / 2 of a real row are real, so their
                        // imaginary parts are ignored.
                        const bool real = k == 0 || 2 * k == length;
                        const Complex<float> value = row[std::min(k, length - k)];
                        const double im = real ? 0.0 : 2 * k < length ? value.im : -value.im;
                        sum += 0.25 * (Number(value.re, im) * root(k * x, length)).real();
                    }
                    const double is =
                        sums[static_cast<std::size_t>((index_t{s} * rows + y) * columns + j)];
                    ASSERT_FALSE(std::isnan(is));
                    error = std::max(error, std::abs(sum - is));
                    largest = std::max(largest, std::abs(sum));
                }
            }
        }
        EXPECT_LE(error, 5e-7 * std::max(largest, 0.25 * std::sqrt(length)));
    }
}

TEST(SimtRowTransforms, ArePossibleForSmallPrimesAndBlocks) {
    core::Simt simt;
    EXPECT_FALSE(gpu::RowTransforms<core::Simt>(simt, 22).possible());
    EXPECT_FALSE(gpu::RowTransforms<core::Simt>(simt, 100000).possible());
}

}  // namespace
}  // namespace aperture::corr
