// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/elements_oracle.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <limits>
#include <random>

namespace aperture::dense::elements {

template <class T>
Filters<T>::Filters(index_t problems, bool interleaved, index_t gap)
    : x({problems, 5}, interleaved, gap),
      p({problems, 5, 5}, interleaved, gap),
      z({problems, 2}, !interleaved) {
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

template struct Filters<float>;
template struct Filters<double>;
template void expect_updated<float>(const KalmanUpdate&, const Filters<float>&,
                                    const Filters<float>&, index_t);
template void expect_updated<double>(const KalmanUpdate&, const Filters<double>&,
                                     const Filters<double>&, index_t);

}  // namespace aperture::dense::elements
