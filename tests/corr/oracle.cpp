// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/corr/oracle.hpp"

#include <cmath>

namespace aperture::corr {

Surface sums_of_products(const Planes& a, const Planes& b, index_t plane, const Lags& lags) {
    const auto [planes, rows, columns] = a.extent();
    Surface surface({lags.extent().rows, lags.extent().columns});
    for (index_t i = 0; i < lags.extent().rows; ++i) {
        for (index_t j = 0; j < lags.extent().columns; ++j) {
            const index_t dy = lags.first_row() + i;
            const index_t dx = lags.first_column() + j;
            double sum = 0;
            for (index_t y = 0; y < rows; ++y) {
                if (y + dy < 0 || y + dy >= rows) continue;
                for (index_t x = 0; x < columns; ++x) {
                    if (x + dx < 0 || x + dx >= columns) continue;
                    sum += static_cast<double>(a(plane, y + dy, x + dx)) *
                           static_cast<double>(b(plane, y, x));
                }
            }
            surface(i, j) = sum;
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
