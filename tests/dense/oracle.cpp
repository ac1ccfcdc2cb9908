// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/oracle.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

namespace aperture::dense::oracle {
namespace {

/// |z|, of which std::abs was a third of the tests' time, if its square neither overflows nor
/// underflows.
double magnitude(Complex z) {
    if (z.imag() == 0) return std::abs(z.real());
    const double square = std::norm(z);
    return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::abs(z);
}

}  // namespace

template <Scalar T>
Matrix rounded(Matrix a) {
    for (auto& entry : a.reshaped()) entry = Complex(rounded<T>(entry));
    return a;
}
template Matrix rounded<float>(Matrix);
template Matrix rounded<double>(Matrix);
template Matrix rounded<std::complex<float>>(Matrix);
template Matrix rounded<std::complex<double>>(Matrix);

Matrix hermitian_rank_k(double alpha, const Matrix& a, double beta, const Matrix& c) {
    Matrix sum = Matrix::Zero(c.rows(), c.cols());
    for (Eigen::Index i = 0; i < c.rows(); ++i) {
        for (Eigen::Index j = 0; j < c.cols(); ++j) {
            Complex product = 0;
            for (Eigen::Index k = 0; k < a.cols(); ++k) product += a(i, k) * std::conj(a(j, k));
            sum(i, j) = alpha * product + (beta == 0 ? Complex(0) : beta * c(i, j));
        }
    }
    return sum;
}

std::vector<double> pivots(const Matrix& a) {
    const Eigen::Index n = a.rows();
    Matrix l = a;
    std::vector<double> d;
    for (Eigen::Index j = 0; j < n; ++j) {
        double pivot = a(j, j).real();
        for (Eigen::Index k = 0; k < j; ++k) pivot -= std::norm(l(j, k)) * d[std::size_t(k)];
        d.push_back(pivot);
        if (!(pivot > 0) || !std::isfinite(pivot)) break;
        for (Eigen::Index i = j + 1; i < n; ++i) {
            Complex sum = a(i, j);
            for (Eigen::Index k = 0; k < j; ++k) {
                sum -= l(i, k) * std::conj(l(j, k)) * d[std::size_t(k)];
            }
            l(i, j) = sum / pivot;
        }
    }
    return d;
}

int first_bad_minor(const Matrix& a) {
    const std::vector<double> d = pivots(a);
    if (d.empty() || (d.back() > 0 && std::isfinite(d.back()))) return 0;
    return static_cast<int>(d.size());
}

double one_norm(const Matrix& a) {
    double largest = 0;
    for (Eigen::Index j = 0; j < a.cols(); ++j) {
        double sum = 0;
        for (Eigen::Index i = 0; i < a.rows(); ++i) sum += magnitude(a(i, j));
        if (std::isnan(sum)) return sum;
        largest = std::max(largest, sum);
    }
    return largest;
}

double residual_ratio(const Matrix& a, const Matrix& x, const Matrix& b, double eps_of_type) {
    const Matrix residual = b - a * x;
    const double unit = double(a.rows()) * eps_of_type * one_norm(a);
    double worst = 0;
    for (Eigen::Index j = 0; j < x.cols(); ++j) {
        const double size = unit * one_norm(x.col(j));
        const double error = one_norm(residual.col(j));
        const double ratio = error == 0 ? 0 : error / size;
        if (!(ratio <= worst)) worst = ratio;
        if (std::isnan(ratio)) return ratio;
    }
    return worst;
}

double forward_ratio(const Matrix& x, const Matrix& exact, double condition, double eps_of_type) {
    double worst = 0;
    for (Eigen::Index j = 0; j < x.cols(); ++j) {
        const double error = (x.col(j) - exact.col(j)).cwiseAbs().maxCoeff();
        const double ratio = error / (exact.col(j).cwiseAbs().maxCoeff() * condition * eps_of_type);
        if (std::isnan(ratio)) return ratio;
        worst = std::max(worst, ratio);
    }
    return worst;
}

double snr_db(const Matrix& value, const Matrix& exact) {
    return 20 * std::log10(exact.norm() / (value - exact).norm());
}

Matrix orthonormal(const Matrix& a) {
    return Eigen::HouseholderQR<Matrix>(a).householderQ() * Matrix::Identity(a.rows(), a.cols());
}

Eigen::VectorXd eigenvalues(const Matrix& a) {
    return Eigen::SelfAdjointEigenSolver<Matrix>(a, Eigen::EigenvaluesOnly).eigenvalues();
}

double condition(const Matrix& a) {
    const Eigen::VectorXd values = eigenvalues(a);
    return values.maxCoeff() / values.minCoeff();
}

}  // namespace aperture::dense::oracle
