// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <random>
#include <span>
#include <vector>

#include "aperture/dense/batch_factor.hpp"
#include "libdense/batch_checks.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::dense {
namespace {

/// The LU factors of the first `problems` matrices of a batch whose matrices have `gap` entries
/// between them, and which does not begin with a cache line.
template <class T>
std::vector<T> factors_of(const std::vector<T>& matrices, core::index_t problems, core::index_t n,
                          core::index_t gap, Order order) {
    const core::index_t size = n * n + gap;
    std::vector<T> factors(std::size_t(problems * size + 1), T(-7));
    core::Extents<3> stride{size, n, 1};
    if (order == Order::rows) std::swap(stride[1], stride[2]);
    const core::Extents<3> extent{problems, n, n};
    std::vector<int> info(static_cast<std::size_t>(problems));
    core::Cpu cpu(2);
    dense::factor_lu<T>(cpu, Pivoting::none, {matrices.data() + 1, extent, stride},
                        {factors.data() + 1, extent, stride}, {}, {info.data(), {problems}});
    EXPECT_EQ(std::count(info.begin(), info.end(), 0), problems);
    return factors;
}

/// Factors of a batch that is stored past the caches are those of its first problems alone.
template <class T>
void expect_large_as_small(core::index_t n, core::index_t gap, Order order) {
    SCOPED_TRACE(::testing::Message() << n << ", gap " << gap << ", order " << int(order));
    constexpr core::index_t bytes = 4 << 20, different = 37;
    const core::index_t size = n * n + gap;
    const core::index_t problems = bytes / (n * n * core::index_t{sizeof(T)}) + different;
    std::vector<T> matrices(std::size_t(problems * size + 1));
    std::mt19937 generator(6);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (core::index_t p = 0; p < problems; ++p) {
        T* const matrix = matrices.data() + 1 + p * size;
        for (core::index_t e = 0; e < n * n; ++e) {
            const T entry(uniform(generator) + (e % (n + 1) == 0 ? 2.0f * float(n) : 0.0f));
            matrix[e] = p < different ? entry : matrix[e - p / different * different * size];
        }
    }
    const std::vector<T> few = factors_of(matrices, different, n, gap, order);
    const std::vector<T> all = factors_of(matrices, problems, n, gap, order);
    for (core::index_t p = 0; p < problems; ++p) {
        const std::span here(all.data() + 1 + p * size, std::size_t(size));
        const std::span alone(few.data() + 1 + p % different * size, std::size_t(size));
        ASSERT_TRUE(tests::same_bytes(here, alone)) << "problem " << p;
    }
}

TEST(DenseCpu, LargeBatchesHaveTheBitsOfSmallOnes) {
    expect_large_as_small<float>(13, 0, Order::columns);
    expect_large_as_small<float>(44, 0, Order::columns);
    expect_large_as_small<float>(44, 3, Order::rows);
    expect_large_as_small<double>(16, 5, Order::columns);
    expect_large_as_small<std::complex<float>>(12, 0, Order::rows);
    expect_large_as_small<std::complex<double>>(40, 1, Order::columns);
}

}  // namespace
}  // namespace aperture::dense
