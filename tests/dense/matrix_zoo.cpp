// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/matrix_zoo.hpp"

#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"

namespace aperture::dense::oracle {
namespace {

/// Q diag(values) Q^H with the Q of `square` = QR.
Matrix with_spectrum(const Eigen::VectorXd& values, const Matrix& square) {
    const Matrix q = orthonormal(square);
    const Matrix a = q * values.cast<Complex>().asDiagonal() * q.adjoint();
    return (a + a.adjoint()) / 2.0;
}

}  // namespace

Eigen::VectorXd geometric(Eigen::Index n, double condition) {
    Eigen::VectorXd values(n);
    for (Eigen::Index i = 0; i < n; ++i) {
        values(i) = n == 1 ? 1 : std::pow(condition, -double(i) / double(n - 1));
    }
    return values;
}

template <Scalar T>
Matrix random_matrix(Eigen::Index rows, Eigen::Index columns, std::mt19937& generator) {
    std::normal_distribution<double> normal;
    Matrix a(rows, columns);
    for (auto& entry : a.reshaped()) {
        entry = normal(generator);
        if constexpr (!std::same_as<T, Real<T>>) entry += Complex(0, normal(generator));
    }
    return rounded<T>(a);
}

template <Scalar T>
Matrix random_hermitian(Eigen::Index n, std::mt19937& generator) {
    const Matrix b = random_matrix<T>(n, n, generator);
    return b + b.adjoint();
}

template <Scalar T>
Matrix with_spectrum(const Eigen::VectorXd& values, std::mt19937& generator) {
    const Eigen::Index n = values.size();
    return rounded<T>(with_spectrum(values, random_matrix<T>(n, n, generator)));
}

template <Scalar T>
std::vector<ZooMatrix> zoo(int n, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<ZooMatrix> all;
    if (n == 0) return {{"empty", Matrix(0, 0), 0, 0}};

    // Above this condition, rounding A may make it indefinite (Higham 2002, th. 10.7).
    const double surely_definite = 0.1 / (n * eps<T>);
    for (double condition : {1.0, 1e2, std::sqrt(0.1 / eps<T>), 0.1 / eps<T>, 1 / eps<T>}) {
        if (n == 1) condition = 1;
        const bool sure = condition <= surely_definite;
        all.push_back({core::text("spectrum ", condition),
                       with_spectrum<T>(geometric(n, condition), generator), sure ? condition : 0,
                       sure ? 0 : -1});
    }
    const double middle = n == 1 ? 1 : std::sqrt(0.1 / eps<T>);
    Eigen::VectorXd one_small = Eigen::VectorXd::Ones(n);
    one_small(n - 1) = 1 / middle;
    const Matrix good = with_spectrum<T>(one_small, generator);
    all.push_back({"one small eigenvalue", good, middle, 0});
    all.push_back({"diagonal",
                   rounded<T>(Matrix(geometric(n, middle).cast<Complex>().asDiagonal())), middle,
                   0});

    Eigen::VectorXd scale(n);
    for (int i = 0; i < n; ++i) scale(i) = std::ldexp(1, (7 * i) % 21 - 10);
    const Matrix d = scale.cast<Complex>().asDiagonal();
    all.push_back({"row-scaled", d * with_spectrum<T>(geometric(n, 10), generator) * d, 0, 0});
    const int range = std::numeric_limits<Real<T>>::max_exponent - 28;
    all.push_back({"near overflow", std::ldexp(1, range) * good, middle, 0});
    all.push_back({"near underflow", std::ldexp(1, -range) * good, middle, 0});
    const Matrix thin = random_matrix<T>(n, std::max(n / 2, 1), generator);
    all.push_back({"rank-deficient", rounded<T>(thin * thin.adjoint()), 0, n == 1 ? 0 : -1});

    const int row = n / 2;
    const int column = n / 3;
    const auto spoiled = [&](const char* name, int i, int j, double value) {
        Matrix a = good;
        a(i, j) = value;
        a(j, i) = value;
        all.push_back({name, a, 0, i + 1});
    };
    const double infinity = std::numeric_limits<double>::infinity();
    spoiled("NaN on the diagonal", row, row, std::nan(""));
    spoiled("NaN below", n - 1, column, std::nan(""));
    spoiled("infinity on the diagonal", row, row, infinity);
    spoiled("infinity below", n - 1, column, infinity);
    spoiled("indefinite", row, row, -1);
    spoiled("indefinite at the end", n - 1, n - 1, -1);
    Matrix zero_row = good;
    zero_row.row(row).setZero();
    zero_row.col(row).setZero();
    all.push_back({"zero row", zero_row, 0, row + 1});
    return all;
}

Matrix right_hand_sides(const Matrix& a, const Matrix& x) {
    return a.allFinite() ? Matrix(a * x) : x;
}

#define APERTURE_INSTANTIATE(T)                                                  \
    template Matrix random_matrix<T>(Eigen::Index, Eigen::Index, std::mt19937&); \
    template Matrix random_hermitian<T>(Eigen::Index, std::mt19937&);            \
    template Matrix with_spectrum<T>(const Eigen::VectorXd&, std::mt19937&);     \
    template std::vector<ZooMatrix> zoo<T>(int, unsigned);
APERTURE_INSTANTIATE(float)
APERTURE_INSTANTIATE(double)
APERTURE_INSTANTIATE(std::complex<float>)
APERTURE_INSTANTIATE(std::complex<double>)
#undef APERTURE_INSTANTIATE

}  // namespace aperture::dense::oracle
