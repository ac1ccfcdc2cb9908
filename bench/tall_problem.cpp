// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/tall_problem.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/program.hpp"

namespace aperture::bench {

using core::Array;

std::vector<Size> tall_sizes() {
    if (smoke) return {{1000, 24}};
    return {{1000, 192},   {5000, 192},    {10000, 192},  {50000, 192},  {100000, 192},
            {500000, 192}, {1000000, 192}, {100000, 100}, {110592, 100}, {20000, 500}};
}

std::string name_of(const Size& size) {
    return std::to_string(size.rows) + "x" + std::to_string(size.columns);
}

Array<float, 2> random_columns(const Size& size) {
    Array<float, 2> a({size.columns, size.rows});
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : a) value = uniform(generator);
    return a;
}

double gflop_of(const Size& size) {
    const auto m = static_cast<double>(size.rows);
    const auto n = static_cast<double>(size.columns);
    return (2 * m * n * n - 2 * n * n * n / 3) * 1e-9;
}

bool is_r_of(const Array<float, 2>& a, core::View<const float, 2, core::Host> r) {
    const index_t n = a.extent()[0];
    for (index_t i = 0; i < n; i += std::max<index_t>(n / 5, 1)) {
        double expected = 0;
        double length = 0;
        double value = 0;
        for (index_t k = 0; k < a.extent()[1]; ++k) {
            expected += double(a(i, k)) * a(n - 1, k);
            length += double(a(i, k)) * a(i, k);
        }
        for (index_t k = 0; k < n; ++k) value += double(r(k, i)) * r(k, n - 1);
        if (!(std::abs(value - expected) <= 1e-5 * length)) return false;
    }
    return true;
}

}  // namespace aperture::bench
