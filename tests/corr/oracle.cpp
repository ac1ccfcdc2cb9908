// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/corr/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace aperture::corr {

Planes normal_planes(index_t planes, Shape shape, unsigned seed, float mean, float deviation) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(mean, deviation);
    Planes result({planes, shape.rows, shape.columns});
    for (float& value : result) value = normal(generator);
    return result;
}

Surface sums_of_products(const Planes& a, const Planes& b, index_t plane, const Lags& lags) {
    const auto [planes, rows, columns] = a.extent();
    Surface surface({lags.extent().rows, lags.extent().columns});
    for (index_t i = 0; i < lags.extent().rows; ++i) {
        for (index_t j = 0; j < lags.extent().columns; ++j) {
            const index_t dy = lags.first_row() + i;
            const index_t dx = lags.first_column() + j;
            const index_t begin = std::max<index_t>(0, -dx);
            const index_t end = std::min(columns, columns - dx);
            // Sums of a few products in double are added in long double.
            constexpr index_t few = 16;
            long double sum = 0;
            for (index_t y = std::max<index_t>(0, -dy); y < std::min(rows, rows - dy); ++y) {
                for (index_t first = begin; first < end; first += few) {
                    double sum_of_few = 0;
                    for (index_t x = first; x < std::min(first + few, end); ++x) {
                        sum_of_few += static_cast<double>(a(plane, y + dy, x + dx)) *
                                      static_cast<double>(b(plane, y, x));
                    }
                    sum += sum_of_few;
                }
            }
            surface(i, j) = static_cast<double>(sum);
        }
    }
    return surface;
}

double magnitude(const Planes& a, const Planes& b, index_t plane) {
    const auto squares = [&](const Planes& planes) {
        double sum = 0;
        for (index_t y = 0; y < planes.extent()[1]; ++y) {
            for (index_t x = 0; x < planes.extent()[2]; ++x) {
                const double value = planes(plane, y, x);
                sum += value * value;
            }
        }
        return sum;
    };
    return std::sqrt(squares(a) * squares(b));
}

}  // namespace aperture::corr
