// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"
#include "aperture/dense/batch_elements.hpp"
#include "docs/examples/kalman_update.hpp"

/// Functors over batches on any executor. A Call runs for_each_element on host views:
///     template <int threads> static void run(const auto& functor, auto... operands);
namespace aperture::dense::elements {

using core::index_t;

/// Where the entries of problems are; `gap` entries between them.
template <class T, int Rank>
struct Placed {
    std::vector<T> store;
    core::View<T, Rank, core::Host> view;

    Placed(core::Extents<Rank> extent, bool interleaved, index_t gap = 0) {
        core::Extents<Rank> padded = extent;
        padded[interleaved ? 0 : Rank - 1] += gap;
        using Interleaved = core::View<T, Rank, core::Host, core::Interleaved>;
        using Concatenated = core::View<T, Rank, core::Host, core::Concatenated>;
        view.extent = extent;
        view.stride =
            interleaved ? Interleaved::dense_strides(padded) : Concatenated::dense_strides(padded);
        index_t size = 1;
        for (const index_t e : padded) size *= e;
        store.assign(static_cast<std::size_t>(size), T(-777));
        view.data = store.data();
    }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    Placed(Placed&&) = default;
    Placed& operator=(Placed&&) = delete;

    Placed copy() const {
        Placed other(view.extent, false);
        other.store = store;
        other.view.stride = view.stride;
        other.view.data = other.store.data();
        return other;
    }
};

/// Problems on both sides of the parts and blocks that they are computed in.
inline const std::vector<index_t> problem_counts{0, 1, 15, 16, 17, 127, 128, 129, 1031};

template <class T>
struct Filters {
    Placed<T, 2> x;
    Placed<T, 3> p;
    Placed<T, 2> z;

    Filters(index_t problems, bool interleaved, index_t gap)
        : x({problems, 5}, interleaved, gap),
          p({problems, 5, 5}, interleaved, gap),
          z({problems, 2}, !interleaved, gap) {
        std::mt19937 generator(7);
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (index_t f = 0; f < problems; ++f) {
            Eigen::Matrix<double, 5, 5> a;
            for (double& entry : a.reshaped()) entry = uniform(generator);
            a = Eigen::Matrix<double, 5, 5>(a * a.transpose() + 0.1 * a.Identity());
            for (int i = 0; i < 5; ++i) {
                x.view(f, i) = static_cast<T>(uniform(generator));
                for (int j = 0; j < 5; ++j) p.view(f, i, j) = static_cast<T>(a(i, j));
            }
            for (int m = 0; m < 2; ++m) z.view(f, m) = static_cast<T>(uniform(generator));
        }
    }
};

inline KalmanUpdate tracker() {
    return {{{1, 0, 0.5f, 0, 0}, {0, 1, 0, 0.25f, 0.125f}}, {{0.5f, 0.125f}, {0.125f, 0.25f}}};
}

/// The update as textbooks have it.
template <class T>
void expect_updated(const KalmanUpdate& model, const Filters<T>& before, const Filters<T>& after,
                    index_t f) {
    Eigen::Matrix<double, 2, 5> h;
    Eigen::Matrix2d r;
    Eigen::Matrix<double, 5, 5> p, p_after;
    Eigen::Matrix<double, 5, 1> x, x_after;
    Eigen::Vector2d z;
    for (int m = 0; m < 2; ++m) {
        z(m) = before.z.view(f, m);
        for (int n = 0; n < 2; ++n) r(m, n) = model.r[m][n];
        for (int i = 0; i < 5; ++i) h(m, i) = model.h[m][i];
    }
    for (int i = 0; i < 5; ++i) {
        x(i) = before.x.view(f, i);
        x_after(i) = after.x.view(f, i);
        for (int j = 0; j < 5; ++j) {
            p(i, j) = before.p.view(f, i, j);
            p_after(i, j) = after.p.view(f, i, j);
        }
    }
    const Eigen::Matrix2d s = h * p * h.transpose() + r;
    const Eigen::Matrix<double, 5, 2> gain = p * h.transpose() * s.inverse();
    const Eigen::Matrix<double, 5, 1> x_exact = x + gain * (z - h * x);
    const Eigen::Matrix<double, 5, 5> p_exact = p - gain * h * p;
    // The innovation's covariance has a condition below 100.
    const double limit = 1000 * std::numeric_limits<T>::epsilon();
    ASSERT_LE((x_after - x_exact).norm(), limit * (x.norm() + z.norm() + 1)) << "filter " << f;
    ASSERT_LE((p_after - p_exact).norm(), limit * p.norm()) << "filter " << f;
    ASSERT_EQ(p_after, p_after.transpose()) << "filter " << f;
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

/// y = A x / ||x||, with the rows of A among the threads of a team.
struct NormalisedProduct {
    template <class Team, class Matrix, class Vector, class Result, class Norm>
    APERTURE_HD void operator()(const Team& team, const Matrix& a, Vector& x, Result& y,
                                Norm& norm) const {
        using T = typename Matrix::Number;
        T squares = T(0);
        for (int j = team.rank; j < 7; j += team.threads) squares += x(j) * x(j);
        const T length = sqrt(team.sum(squares));
        if (team.rank == 0) norm() = length;
        for (int j = team.rank; j < 7; j += team.threads) x(j) = x(j) / length;
        team.sync();
        for (int i = team.rank; i < 3; i += team.threads) {
            T sum = T(0);
            for (int j = 0; j < 7; ++j) sum += a(i, j) * x(j);
            y(i) = sum;
        }
    }
};

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

/// A functor with branches and loops that depend on the numbers, of one problem at a time.
struct CollatzLength {
    APERTURE_HD void operator()(const Element<float>& start, Element<float>& length) const {
        float n = start();
        length() = 0;
        while (n > 1) {
            n = n - 2 * static_cast<float>(static_cast<int>(n) / 2) > 0 ? 3 * n + 1 : n / 2;
            length() += 1;
        }
    }
};

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

/// The functions of Lanes.
struct Clip {
    float limit;
    template <class Number>
    APERTURE_HD void operator()(Number& x) const {
        using T = typename Number::Number;
        T y = x();
        y = select(y > limit, T(limit), y);
        y = select(y < -T(limit), -T(limit), y);
        x() = select(y == 0.5f, T(100), y);
    }
};

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

struct Nothing {
    template <class A, class B>
    APERTURE_HD void operator()(const A&, const B&) const {}
};

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
