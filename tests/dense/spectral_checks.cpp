// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/spectral_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"

namespace aperture::dense::oracle {
namespace {

/// A power of two near the inverse of the largest entry, so that norms neither overflow nor vanish.
double scale_of(const Matrix& a) {
    const double largest = a.size() == 0 ? 0 : a.cwiseAbs().maxCoeff();
    return largest > 0 ? std::ldexp(1, std::clamp(-std::ilogb(largest), -1022, 1022)) : 1;
}

/// `error` relative to n eps `size`; zero matrices must be exact.
template <Scalar T>
double ratio(double error, double size, Eigen::Index n) {
    return size == 0 ? error / std::numeric_limits<double>::min()
                     : error / (size * double(std::max<Eigen::Index>(n, 1)) * eps<T>);
}

template <Scalar T>
void check_orthonormal(const Matrix& q) {
    const Eigen::Index n = q.cols();
    if (n == 0) return;
    EXPECT_LT(ratio<T>(one_norm(q.adjoint() * q - Matrix::Identity(n, n)), 1, q.rows()),
              ratio_limit);
}

}  // namespace

template <Scalar T>
std::vector<ZooMatrix> hermitian_zoo(int n, unsigned seed) {
    if (n == 0) return {{"empty", Matrix(0, 0), 0, 0}};
    std::mt19937 generator(seed);
    std::vector<ZooMatrix> all;
    const auto add = [&](std::string name, const Matrix& a, int info = 0) {
        all.push_back({std::move(name), rounded<T>(a), 0, info});
    };
    for (double condition : {1e2, std::sqrt(0.1 / eps<T>), 1 / eps<T>}) {
        add(core::text("spectrum ", condition),
            with_spectrum<T>(geometric(n, condition), generator));
    }
    Eigen::VectorXd signs = geometric(n, 1e3);
    for (int i = 1; i < n; i += 2) signs(i) = -signs(i - 1);
    const Matrix good = with_spectrum<T>(signs, generator);
    add("pairs of opposite signs", good);
    Eigen::VectorXd repeated(n);
    for (int i = 0; i < n; ++i) repeated(i) = i % 3 - 1;
    add("-1, 0 and 1", with_spectrum<T>(repeated, generator));
    add("rank one", Matrix::Ones(n, n));
    const Matrix diagonal = signs.cast<Complex>().asDiagonal();
    add("diagonal", diagonal);
    add("zero", Matrix::Zero(n, n));
    Matrix couple = diagonal;
    couple(n - 1, 0) += 1e-30;
    couple(0, n - 1) += 1e-30;
    add("tiny entry", couple);
    const int range = std::numeric_limits<Real<T>>::max_exponent - 16;
    add("near overflow", std::ldexp(1, range) * good);
    add("near underflow", std::ldexp(1, -range + 24) * good);
    Matrix graded = good;
    for (int i = 0; i < n; ++i) {
        graded.row(i) *= std::ldexp(1, -(5 * i) % 37);
        graded.col(i) *= std::ldexp(1, -(5 * i) % 37);
    }
    add("graded", graded);
    Matrix spoiled = good;
    spoiled(n - 1, n / 2) = std::nan("");
    add("NaN", spoiled, 1);
    spoiled(n - 1, n / 2) = -std::numeric_limits<double>::infinity();
    add("infinity", spoiled, 1);
    return all;
}

template <Scalar T>
void check_eigen(const Matrix& a, const Matrix& values, const Matrix& v) {
    const Eigen::Index n = a.rows();
    if (n == 0) return;
    const double scale = scale_of(a);
    const Matrix scaled = scale * a;
    const Matrix lambda = scale * values;
    const double size = one_norm(scaled);
    EXPECT_LT(ratio<T>(one_norm(scaled * v - v * lambda.col(0).asDiagonal()), size, n),
              ratio_limit);
    check_orthonormal<T>(v);
    const Eigen::VectorXd computed = lambda.col(0).real();
    EXPECT_LT(ratio<T>((computed - eigenvalues(scaled)).cwiseAbs().maxCoeff(), size, n),
              ratio_limit);
    EXPECT_TRUE(std::is_sorted(computed.begin(), computed.end()));
}

template <Scalar T>
void check_svd(const Matrix& a, const Matrix& u, const Matrix& values, const Matrix& v) {
    if (a.size() == 0) return;
    const double scale = scale_of(a);
    const Matrix scaled = scale * a;
    const Matrix sigma = scale * values;
    const double size = one_norm(scaled);
    EXPECT_LT(
        ratio<T>(one_norm(scaled - u * sigma.col(0).asDiagonal() * v.adjoint()), size, a.rows()),
        ratio_limit);
    check_orthonormal<T>(u);
    check_orthonormal<T>(v);
    // The eigenvalues of [0 A; A^H 0] are the singular values, their negatives, and zeros: the
    // solver above, for another one would take half a minute to compile.
    const Eigen::Index m = a.rows(), n = a.cols();
    Matrix both = Matrix::Zero(m + n, m + n);
    both.bottomLeftCorner(n, m) = scaled.adjoint();
    const Eigen::VectorXd exact = eigenvalues(both).tail(n).reverse();
    const Eigen::VectorXd computed = sigma.col(0).real();
    EXPECT_LT(ratio<T>((computed - exact).cwiseAbs().maxCoeff(), size, m), ratio_limit);
    EXPECT_TRUE(std::is_sorted(computed.begin(), computed.end(), std::greater<>()));
    EXPECT_GE(computed.minCoeff(), 0);
}

#define APERTURE_INSTANTIATE(T)                                                \
    template std::vector<ZooMatrix> hermitian_zoo<T>(int, unsigned);           \
    template void check_eigen<T>(const Matrix&, const Matrix&, const Matrix&); \
    template void check_svd<T>(const Matrix&, const Matrix&, const Matrix&, const Matrix&);
APERTURE_INSTANTIATE(float)
APERTURE_INSTANTIATE(double)
APERTURE_INSTANTIATE(std::complex<float>)
APERTURE_INSTANTIATE(std::complex<double>)
#undef APERTURE_INSTANTIATE

}  // namespace aperture::dense::oracle
