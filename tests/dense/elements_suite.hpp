// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"
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
        view.stride = interleaved ? Interleaved::dense_strides(padded)
                                  : Concatenated::dense_strides(padded);
        index_t size = 1;
        for (const index_t e : padded) size *= e;
        store.assign(static_cast<std::size_t>(size), T(-777));
        view.data = store.data();
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

}  // namespace aperture::dense::elements
