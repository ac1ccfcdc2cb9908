// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "libdense/gpu/batch_blas.cuh"
#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/fast_divider.hpp"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "libdense/gpu/solve.cuh"
#include "tests/dense/simt_runner.hpp"

/// Batches of more problems than a dimension of a grid has blocks.
namespace aperture::dense::oracle {
namespace {

using core::index_t;

using Runner = SimtRunner<std::integer_sequence<int, 1>>;

TEST(FastDividers, DivideEveryNumberTheyMay) {
    for (int divisor : {1, 2, 3, 5, 7, 16, 31, 33, 64, 255, 256, 4097, 65535}) {
        const FastDivider divider(divisor);
        const auto largest = static_cast<int>(std::min((1LL << 32) / divisor - 1, 0x7fffffffLL));
        for (int n = 0; n < 100000; ++n) {
            const int small = std::min(n, largest);
            const int large = std::max(largest - n, 0);
            ASSERT_EQ(divider.quotient(small), small / divisor) << small << " / " << divisor;
            ASSERT_EQ(divider.quotient(large), large / divisor) << large << " / " << divisor;
        }
    }
}

// Results depend on the problem's index, so a dropped or repeated block is detected.
TEST(LargeSimt, Batches) {
    using Float = HostBatch<float>;
    for (index_t problems : {65535, 65536, 65537, 600000}) {
        Float a(problems, 1, 1), x(problems, 1, 1), c(problems, 1, 1);
        Float interleaved(problems, 1, 1, Order::problems);
        std::vector<int> info(std::size_t(problems), -1);
        for (index_t p = 0; p < problems; ++p) {
            a.view()(p, 0, 0) = p % 1009 == 0 ? -1.0f : 2.0f;
            x.view()(p, 0, 0) = float(p);
        }
        Runner runner;
        runner.run(call_solve, Factorisation::cholesky, std::as_const(a).view(), x.view(),
                   core::View<int, 1>(info.data(), {problems}), core::View<float, 1>());
        runner.run(APERTURE_CALL(hermitian_rank_k), 1.0f, std::as_const(x).view(), 0.0f, c.view());
        runner.run(APERTURE_CALL(change_layout), std::as_const(c).view(), interleaved.view());
        for (index_t p = 0; p < problems; ++p) {
            const bool bad = p % 1009 == 0;
            const float expected = bad ? 0 : float(p) / 2;
            ASSERT_EQ(info[std::size_t(p)], bad ? 1 : 0) << p << " of " << problems;
            ASSERT_EQ(x.view()(p, 0, 0), expected) << p << " of " << problems;
            ASSERT_EQ(c.view()(p, 0, 0), expected * expected) << p << " of " << problems;
            ASSERT_EQ(interleaved.view()(p, 0, 0), expected * expected) << p << " of " << problems;
        }
    }
}

TEST(LargeSimt, Products) {
    using Float = HostBatch<float>;
    constexpr index_t problems = 65537;
    Float a(problems, 1, 1), x(problems, 1, 1);
    for (index_t p = 0; p < problems; ++p) {
        a.view()(p, 0, 0) = 2.0f;
        x.view()(p, 0, 0) = float(p);
    }
    Runner runner;
    Float product(problems, 1, 1), sums(problems, 1, 1);
    std::vector<float> dots(std::size_t(problems), -1);
    const auto vectors = [&](auto view) {
        using Entry = std::remove_pointer_t<decltype(view.data)>;
        return core::View<Entry, 2, core::Host>(view.data, {problems, 1});
    };
    runner.run(APERTURE_CALL(gemm), Op::none, Op::none, 1.0f, std::as_const(x).view(),
               std::as_const(a).view(), 0.0f, product.view());
    runner.run(APERTURE_CALL(gemv), Op::none, 1.0f, std::as_const(x).view(),
               vectors(std::as_const(a).view()), 0.0f, vectors(sums.view()));
    runner.run(APERTURE_CALL(dot), vectors(std::as_const(x).view()),
               vectors(std::as_const(a).view()), core::View<float, 1>(dots.data(), {problems}));
    for (index_t p = 0; p < problems; ++p) {
        const float multiple = a.view()(p, 0, 0) * x.view()(p, 0, 0);
        ASSERT_EQ(product.view()(p, 0, 0), multiple) << p << " of " << problems;
        ASSERT_EQ(sums.view()(p, 0, 0), multiple) << p << " of " << problems;
        ASSERT_EQ(dots[std::size_t(p)], multiple) << p << " of " << problems;
    }
}

}  // namespace
}  // namespace aperture::dense::oracle
