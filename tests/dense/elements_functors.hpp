// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/element.hpp"
#include "docs/examples/kalman_update.hpp"

/// The functors that tests call on any executor.
namespace aperture::dense::elements {

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

struct Nothing {
    template <class A, class B>
    APERTURE_HD void operator()(const A&, const B&) const {}
};

}  // namespace aperture::dense::elements
