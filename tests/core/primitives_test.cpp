// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "libcore/gpu/device_cast.hpp"
#include "tests/core/primitives_cases.cuh"

namespace aperture {
namespace {

using core::all_lane_orders;
using core::Complex;
using core::LaneOrder;
using core::Simt;

/// Calls `expect` with an executor for every order of lanes.
template <class Expect>
void in_every_order(Expect expect) {
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        expect(simt);
    }
}

template <class T>
class OfType : public testing::Test {};
using KernelTypes = testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(OfType, KernelTypes);

TEST(Complex, ArithmeticOfStdComplex) {
    const std::complex<double> a{1.25, -2.5}, b{-0.5, 4}, s{3, 7};
    const Complex<double> x{1.25, -2.5}, y{-0.5, 4}, sum{3, 7};
    const auto expect = [](Complex<double> got, std::complex<double> want) {
        EXPECT_EQ(got.re, want.real());
        EXPECT_EQ(got.im, want.imag());
    };
    expect(x + y, a + b);
    expect(x - y, a - b);
    expect(-x, -a);
    expect(x * y, a * b);
    expect(x * 3.0, a * 3.0);
    expect(3.0 * x, a * 3.0);
    expect(core::conj(x), std::conj(a));
    expect(core::multiply_add(sum, x, y), s + a * b);
    expect(core::multiply_add(sum, 2.0, y), s + 2.0 * b);
    expect(core::multiply_add_conj(sum, x, y), s + a * std::conj(b));
    EXPECT_EQ(core::norm(x), std::norm(a));
    EXPECT_EQ(core::add_norm(1.0, x), 1 + std::norm(a));
    EXPECT_EQ(core::real_part(x), 1.25);
    EXPECT_EQ(core::conj(1.5f), 1.5f);
    EXPECT_EQ(core::multiply_add_conj(1.0f, 2.0f, 3.0f), 7.0f);
    EXPECT_EQ(core::norm(-3.0), 9.0);
}

TEST(DeviceCast, KeepsTheLayoutAndChecksTheAlignment) {
    alignas(16) std::complex<float> values[3] = {{1, 2}, {3, 4}, {5, 6}};
    Complex<float>* cast = core::device_cast(values);
    EXPECT_EQ(cast[1].re, 3);
    EXPECT_EQ(cast[2].im, 6);
    const std::complex<float>* constant = values;
    static_assert(std::is_same_v<decltype(core::device_cast(constant)), const Complex<float>*>);
    float real = 0;
    EXPECT_EQ(core::device_cast(&real), &real);
    // std::complex<float> is aligned to 4 bytes only.
    auto* odd = reinterpret_cast<std::complex<float>*>(reinterpret_cast<float*>(values) + 1);
    EXPECT_THROW(core::device_cast(odd), core::InvalidArgument);
}

TEST(TensorCore, SplitNumbersLoseTheLastBitAtMost) {
    for (const float x : {1.0f, -3.14159274f, 16777215.0f, 1e-20f, 8388609.0f, -0.0f}) {
        const core::Tf32Sum sum = core::split_tf32(x);
        EXPECT_EQ(core::detail::bits_of(sum.high) & ~core::detail::tf32_mask, 0u);
        EXPECT_EQ(sum.high + sum.low, x);
        const float read =
            core::detail::float_of(core::detail::bits_of(sum.low) & core::detail::tf32_mask);
        EXPECT_LE(std::fabs(double(sum.high) + double(read) - double(x)),
                  0x1p-22 * std::fabs(double(x)));
    }
    EXPECT_TRUE(std::isnan(core::split_tf32(NAN).low));
}

TEST(TensorCore, SmallProducts) {
    in_every_order([](Simt& simt) {
        primitives::expect_small_product(simt);
        primitives::expect_conjugate_product(simt);
        primitives::expect_small_fp64_product(simt);
        primitives::expect_cut_sums(simt);
    });
}

TYPED_TEST(OfType, BroadcastAndReduceInSubWarps) {
    in_every_order([](Simt& simt) { primitives::expect_all_sub_warps<TypeParam>(simt); });
}

template <int Width>
__global__ void reduce_in_one_sub_warp(int which, int* out) {
    const int i = core::thread_rank();
    if (i / Width != which) return;
    const unsigned mask = ((1U << Width) - 1U) << (which * Width);
    out[i] = core::warp_reduce<Width>(i, core::Maximum{}, mask);
}

TEST(SubWarp, WorksAloneUnderItsOwnMask) {
    for (const int which : {0, 1, 2, 3}) {
        Simt simt;
        std::vector<int> out(32, -1);
        core::launch(simt, reduce_in_one_sub_warp<8>, {1, 32}, which, out.data());
        for (int i = 0; i < 32; ++i) {
            EXPECT_EQ(out[static_cast<std::size_t>(i)], i / 8 == which ? 8 * which + 7 : -1);
        }
    }
}

TYPED_TEST(OfType, BlockReduceGivesEveryThreadTheSum) {
    in_every_order([](Simt& simt) { primitives::expect_block_reductions<TypeParam>(simt); });
}

TEST(BlockReduce, SameBitsInEveryOrderOfLanesAndOverAndOver) {
    std::vector<float> in(512);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = 1 / static_cast<float>(i + 1);
    std::vector<std::vector<float>> results;
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        results.emplace_back(in.size());
        core::launch(simt, primitives::reduce_blocks<float>, {1, 512, 16 * sizeof(float)},
                     in.data(), results.back().data(), 3);
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
}

TYPED_TEST(OfType, TilesArriveWithZerosBeyondTheEdges) {
    in_every_order([](Simt& simt) { primitives::expect_tiles<TypeParam>(simt); });
}

TEST(AsynchronousCopy, StagesArriveWhenWaitedFor) {
    in_every_order([](Simt& simt) { primitives::expect_stages(simt); });
}

TEST(AsynchronousCopy, AMissingWaitReadsNotANumber) {
    in_every_order([](Simt& simt) {
        for (const float value : primitives::added_stages<2>(simt)) {
            EXPECT_TRUE(std::isnan(value));
        }
    });
}

TEST(Launch, MayStartEarly) {
    Simt simt;
    primitives::expect_early_starts(simt);
}

TEST(Grid, SynchronisesInACooperativeLaunch) {
    in_every_order([](Simt& simt) { primitives::expect_grid_synchronisation(simt); });
}

}  // namespace
}  // namespace aperture
