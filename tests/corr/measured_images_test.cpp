// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Photographs, skipped if absent. Colours are used as stored, with means far above their contrast.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "aperture/corr/correlator.hpp"
#include "aperture/media/image_file.hpp"
#include "tests/shared_data.hpp"

namespace aperture::corr {
namespace {

class Photographs : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, Photographs,
                         testing::Values("kodim01", "kodim05", "kodim08", "skimage_astronaut",
                                         "skimage_camera"));

TEST_P(Photographs, AreAsExactAsPromised) {
    const auto file = tests::shared_data(std::string("images/") + GetParam() + ".png");
    if (!file) GTEST_SKIP() << "measured data not at hand (APERTURE_DATA, ../shared/data)";
    const auto image = media::read_image(*file).planes;
    const index_t planes = image.extent()[0];
    const index_t rows = image.extent()[1];
    const index_t columns = image.extent()[2];
    const Lags lags{rows / 2, columns / 2, true};
    const auto [lag_rows, lag_columns] = lags.extent();
    core::Cpu cpu;
    core::Array<double, 3> direct({planes, lag_rows, lag_columns});
    core::Array<double, 3> fft(direct.extent());
    Correlator<core::Cpu>(cpu, {planes, {rows, columns}, lags, Method::direct, true})
        .run(image, image, direct);
    Correlator<core::Cpu>(cpu, {planes, {rows, columns}, lags, Method::fft, true})
        .run(image, image, fft);
    std::mt19937 generator(1);
    for (index_t p = 0; p < planes; ++p) {
        const auto sum_at = [&](index_t dy, index_t dx) {
            double sum = 0;
            for (index_t y = std::max<index_t>(0, -dy); y < std::min(rows, rows - dy); ++y) {
                for (index_t x = std::max<index_t>(0, -dx); x < std::min(columns, columns - dx);
                     ++x) {
                    sum += static_cast<double>(image(p, y + dy, x + dx)) *
                           static_cast<double>(image(p, y, x));
                }
            }
            return sum;
        };
        const double size = sum_at(0, 0);
        for (int trial = 0; trial < 40; ++trial) {
            const auto i = std::uniform_int_distribution<index_t>(0, lag_rows - 1)(generator);
            const auto j = std::uniform_int_distribution<index_t>(0, lag_columns - 1)(generator);
            const double expected = sum_at(lags.first_row() + i, lags.first_column() + j);
            EXPECT_LE(std::abs(direct(p, i, j) - expected), 2e-7 * size) << i << ' ' << j;
            EXPECT_LE(std::abs(fft(p, i, j) - expected), 5e-7 * size) << i << ' ' << j;
        }
    }
}

}  // namespace
}  // namespace aperture::corr
