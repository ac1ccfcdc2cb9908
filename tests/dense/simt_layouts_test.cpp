// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "bench/factor_layouts.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {
namespace {

/// Diagonally dominant, so that LU needs no pivoting.
std::vector<float> matrices(int problems, int n) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> all(static_cast<std::size_t>(problems * n * n));
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto in_matrix = static_cast<int>(i) % (n * n);
        all[i] = uniform(random) + (in_matrix % (n + 1) == 0 ? 2 * static_cast<float>(n) : 0);
    }
    return all;
}

/// Whether `to` has the factors of `from`: L U is A, or R^T R is A^T A.
template <bool qr>
void expect_factors(int n, const float* from, const float* to) {
    const auto entry = [n](const float* a, int i, int j) { return double(a[i * n + j]); };
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            double product = 0;
            double expected = qr ? 0 : entry(from, i, j);
            for (int k = 0; qr && k < n; ++k) expected += entry(from, k, i) * entry(from, k, j);
            for (int k = 0; k <= std::min(i, j); ++k) {
                const double left = qr ? entry(to, k, i) : k == i ? 1 : entry(to, i, k);
                product += left * entry(to, k, j);
            }
            ASSERT_NEAR(product, expected, 2e-6 * n * (qr ? 4 * n * n : 2 * n)) << i << ' ' << j;
        }
    }
}

template <class Layout, bool qr>
void expect_factored() {
    constexpr int n = Layout::order;
    constexpr int problems = 2;
    const std::vector<float> from = matrices(problems, n);
    std::vector<float> to(from.size());
    std::vector<float> tau(static_cast<std::size_t>(problems * n), -1);
    core::Simt simt(core::LaneOrder::random, 3);
    core::launch(simt, &factor_in_layout<Layout, qr, false>,
                 core::LaunchConfig(dim3(problems), dim3(Layout::threads), Layout::shared_bytes),
                 from.data(), to.data(), tau.data(), static_cast<long long*>(nullptr));
    for (int p = 0; p < problems; ++p) {
        SCOPED_TRACE(p);
        expect_factors<qr>(n, from.data() + p * n * n, to.data() + p * n * n);
        // Of orthogonal reflectors: tau (1 + |v|^2) = 2.
        for (int k = 0; qr && k < n - 1; ++k) {
            double square = 1;
            for (int i = k + 1; i < n; ++i) {
                const double v = to[static_cast<std::size_t>(p * n * n + i * n + k)];
                square += v * v;
            }
            EXPECT_NEAR(tau[static_cast<std::size_t>(p * n + k)] * square, 2, 1e-5) << k;
        }
    }
}

template <int order, int rows, int columns>
void expect_both() {
    SCOPED_TRACE(testing::Message() << order << " on " << rows << " x " << columns);
    using Layout = FactorLayout<order, rows, columns>;
    expect_factored<Layout, false>();
    expect_factored<Layout, true>();
}

TEST(SimtFactorLayouts, HaveTheSameFactors) {
    expect_both<13, 4, 4>();
    expect_both<13, 16, 1>();
    expect_both<13, 1, 16>();
    expect_both<16, 4, 4>();
    expect_both<9, 16, 4>();
    expect_both<9, 2, 8>();
}

}  // namespace
}  // namespace aperture::bench
