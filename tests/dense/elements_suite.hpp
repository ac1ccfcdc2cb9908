// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "aperture/dense/batch_elements.hpp"
#include "tests/dense/elements_functors.hpp"
#include "tests/dense/elements_oracle.hpp"

/// Functors over batches on any executor. A Call runs for_each_element on host views:
///     template <int threads> static void run(const auto& functor, auto... operands);
namespace aperture::dense::elements {

/// Problems on both sides of the parts and blocks that they are computed in.
inline const std::vector<index_t> problem_counts{0, 1, 15, 16, 17, 127, 128, 129, 1031};

inline KalmanUpdate tracker() {
    return {{{1, 0, 0.5f, 0, 0}, {0, 1, 0, 0.25f, 0.125f}}, {{0.5f, 0.125f}, {0.125f, 0.25f}}};
}

template <class Call, class T>
void check_kalman() {
    const KalmanUpdate model = tracker();
    for (const bool interleaved : {false, true}) {
        for (const index_t gap : {0, 3}) {
            for (const index_t problems : problem_counts) {
                SCOPED_TRACE(::testing::Message() << problems << " filters, interleaved "
                                                  << interleaved << ", gap " << gap);
                const Filters<T> before(problems, interleaved, gap);
                Filters<T> after(problems, interleaved, gap);
                Call::template run<1>(model, in_out<5>(after.x.view), in_out<5, 5>(after.p.view),
                                      in<2>(after.z.view));
                for (index_t f = 0; f < problems; ++f) expect_updated(model, before, after, f);
                EXPECT_EQ(after.z.store, before.z.store);
            }
        }
    }
}

template <class Call, class T, int threads>
void check_team() {
    for (const bool interleaved : {false, true}) {
        for (const index_t problems : {0, 1, 3, 16, 37}) {
            SCOPED_TRACE(::testing::Message() << threads << " threads, " << problems
                                              << " problems, interleaved " << interleaved);
            Placed<T, 3> a({problems, 3, 7}, interleaved, 1);
            Placed<T, 2> x({problems, 7}, !interleaved), y({problems, 3}, interleaved);
            Placed<T, 1> norm({problems}, true);
            std::mt19937 generator(5);
            std::uniform_real_distribution<double> uniform(-1, 1);
            for (index_t p = 0; p < problems; ++p) {
                for (int j = 0; j < 7; ++j) {
                    x.view(p, j) = static_cast<T>(uniform(generator));
                    for (int i = 0; i < 3; ++i)
                        a.view(p, i, j) = static_cast<T>(uniform(generator));
                }
            }
            const std::vector<T> a_before = a.store;
            const Placed<T, 2> start = x.copy();
            Call::template run<threads>(NormalisedProduct(), in<3, 7>(a.view), in_out<7>(x.view),
                                        out<3>(y.view), out(norm.view));
            EXPECT_EQ(a.store, a_before);
            for (index_t p = 0; p < problems; ++p) {
                double squares = 0;
                for (int j = 0; j < 7; ++j) squares += std::pow(double(start.view(p, j)), 2);
                const double limit = 20 * std::numeric_limits<T>::epsilon();
                ASSERT_NEAR(norm.view(p), std::sqrt(squares), limit * 3) << "problem " << p;
                for (int i = 0; i < 3; ++i) {
                    double sum = 0;
                    for (int j = 0; j < 7; ++j) {
                        sum += double(a.view(p, i, j)) * double(start.view(p, j));
                    }
                    ASSERT_NEAR(y.view(p, i), sum / std::sqrt(squares), limit * 7)
                        << "problem " << p << ", row " << i;
                }
            }
        }
    }
}

template <class Call>
void check_branches() {
    Placed<float, 1> start({37}, false), length({37}, true);
    for (int p = 0; p < 37; ++p) start.view(p) = static_cast<float>(p);
    Call::template run<1>(CollatzLength(), in(start.view), out(length.view));
    EXPECT_EQ(length.view(1), 0);
    EXPECT_EQ(length.view(6), 8);
    EXPECT_EQ(length.view(7), 16);
    EXPECT_EQ(length.view(27), 111);
}

template <class Call>
void check_select() {
    Placed<float, 1> x({100}, true, 3);
    for (int p = 0; p < 100; ++p) x.view(p) = static_cast<float>(p - 50) / 4;
    Call::template run<1>(Clip{5}, in_out(x.view));
    for (int p = 0; p < 100; ++p) {
        const float clipped = std::min(5.0f, std::max(-5.0f, static_cast<float>(p - 50) / 4));
        ASSERT_EQ(x.view(p), clipped == 0.5f ? 100.0f : clipped) << p;
    }
}

template <class Call>
void check_refusals() {
    Placed<float, 2> x({6, 4}, false), y({5, 3}, false);
    const Nothing none;
    EXPECT_THAT([&] { Call::template run<1>(none, in<5>(x.view), in<3>(y.view)); },
                ::testing::ThrowsMessage<core::InvalidArgument>(
                    "for_each_element: batch 1 is 6 x 1 x 4, must be 6 x 1 x 5"));
    EXPECT_THAT([&] { Call::template run<1>(none, in<4>(x.view), in<3>(y.view)); },
                ::testing::ThrowsMessage<core::InvalidArgument>(
                    "for_each_element: batch 2 is 5 x 1 x 3, must be 6 x 1 x 3"));
}

}  // namespace aperture::dense::elements
