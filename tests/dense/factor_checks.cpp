// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/factor_checks.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"

namespace aperture::dense::oracle {
namespace {

/// U diag(values) V^H with random unitary U and V.
template <Scalar T>
Matrix with_singular_values(const Eigen::VectorXd& values, std::mt19937& generator) {
    const Eigen::Index n = values.size();
    const auto unitary = [&] { return orthonormal(random_matrix<T>(n, n, generator)); };
    const Matrix u = unitary();
    return rounded<T>(Matrix(u * values.cast<Complex>().asDiagonal() * unitary()));
}

double largest(const Matrix& a) { return a.size() == 0 ? 0 : a.cwiseAbs().maxCoeff(); }

double infinity_norm(const Matrix& a) {
    return a.size() == 0 ? 0 : a.cwiseAbs().rowwise().sum().maxCoeff();
}

/// `size` relative to n ||A|| eps.
template <Scalar T>
double ratio(double size, const Matrix& a) {
    return size == 0 ? 0 : size / (double(a.rows()) * one_norm(a) * eps<T>);
}

/// Matrices that are not finite or have a zero row or column.
void add_spoiled(const Matrix& good, std::vector<ZooMatrix>& all) {
    const Eigen::Index n = good.rows();
    const Eigen::Index middle = n / 2;
    const double infinity = std::numeric_limits<double>::infinity();
    const auto spoiled = [&](const char* name, Eigen::Index i, Eigen::Index j, double value) {
        Matrix a = good;
        a(i, j) = value;
        all.push_back({name, a, 0, -1});
    };
    spoiled("NaN on the diagonal", middle, middle, std::nan(""));
    spoiled("NaN below", n - 1, n / 3, std::nan(""));
    spoiled("infinity above", n / 3, n - 1, infinity);
}

}  // namespace

template <Scalar T>
std::vector<ZooMatrix> general_zoo(int n, unsigned seed) {
    if (n == 0) return {{"empty", Matrix(0, 0), 0, 0}};
    std::mt19937 generator(seed);
    std::vector<ZooMatrix> all;
    for (double condition : {1.0, 1e2, std::sqrt(0.1 / eps<T>), 0.1 / eps<T>, 1 / eps<T>}) {
        if (n == 1) condition = 1;
        const bool sure = condition <= 0.1 / (n * eps<T>);
        all.push_back({core::text("singular values to ", condition),
                       with_singular_values<T>(geometric(n, condition), generator),
                       sure ? condition : 0, sure ? 0 : -1});
    }
    const double middle = n == 1 ? 1 : std::sqrt(0.1 / eps<T>);
    const Matrix good = with_singular_values<T>(geometric(n, middle), generator);
    all.push_back({"random", random_matrix<T>(n, n, generator), 0, 0});
    all.push_back({"identity", Matrix::Identity(n, n), 1, 0});
    Matrix cyclic = Matrix::Zero(n, n);
    for (int i = 0; i < n; ++i) cyclic(i, (i + 1) % n) = 1;
    all.push_back({"cyclic permutation", cyclic, 1, 0});
    Eigen::VectorXd scale(n);
    for (int i = 0; i < n; ++i) scale(i) = std::ldexp(1, (7 * i) % 21 - 10);
    all.push_back(
        {"row-scaled",
         scale.cast<Complex>().asDiagonal() * with_singular_values<T>(geometric(n, 10), generator),
         0, 0});
    const int range = std::numeric_limits<Real<T>>::max_exponent - 28;
    all.push_back({"near overflow", std::ldexp(1, range) * good, middle, 0});
    all.push_back({"near underflow", std::ldexp(1, -range) * good, middle, 0});
    add_spoiled(good, all);
    Matrix zero_column = good;
    zero_column.col(n / 2).setZero();
    all.push_back({"zero column", zero_column, 0, n / 2 + 1});
    Matrix zero_row = good;
    zero_row.row(n / 2).setZero();
    all.push_back({"zero row", zero_row, 0, n});
    all.push_back({"zero", Matrix::Zero(n, n), 0, 1});
    return all;
}

template <Scalar T>
std::vector<ZooMatrix> dominant_zoo(int n, unsigned seed) {
    if (n == 0) return {{"empty", Matrix(0, 0), 0, 0}};
    std::mt19937 generator(seed);
    std::vector<ZooMatrix> all;
    const auto add = [&](const char* name, const Matrix& a) {
        const double condition = infinity_norm(a) * infinity_norm(a.inverse());
        all.push_back({name, a, condition, 0});
    };
    const auto dominant = [&] {
        return rounded<T>(
            Matrix(random_matrix<T>(n, n, generator) + 3.0 * n * Matrix::Identity(n, n)));
    };
    const Matrix good = dominant();
    add("dominant", good);
    add("identity", Matrix::Identity(n, n));
    // The pivots of an entry grow with the reciprocal of the first one.
    Matrix growing = dominant();
    growing(0, 0) = 1.0 / 16;
    if (n > 1) add("growing", growing);
    const int range = std::numeric_limits<Real<T>>::max_exponent - 40;
    add("near overflow", std::ldexp(1, range) * good);
    add("near underflow", std::ldexp(1, -range) * good);
    add_spoiled(good, all);
    Matrix zero_pivot = good;
    zero_pivot.row(n / 2).setZero();
    all.push_back({"zero row", zero_pivot, 0, n / 2 + 1});
    return all;
}

template <Scalar T>
void check_cholesky_factor(const ZooMatrix& entry, const Matrix& g, int info) {
    SCOPED_TRACE(entry.name);
    if (entry.info >= 0) {
        EXPECT_EQ(info, entry.info);
    }
    if (info != 0) return;
    for (Eigen::Index i = 0; i < g.rows(); ++i) {
        for (Eigen::Index j = i + 1; j < g.cols(); ++j) EXPECT_EQ(g(i, j), Complex(0));
        EXPECT_GT(g(i, i).real(), 0);
        EXPECT_EQ(g(i, i).imag(), 0);
    }
    EXPECT_LT(ratio<T>(one_norm(entry.a - g * g.adjoint()), entry.a), ratio_limit);
}

template <Scalar T>
void check_lu_factor(const ZooMatrix& entry, const Matrix& lu, const std::vector<int>& pivots,
                     int info, Pivoting pivoting) {
    const Eigen::Index n = lu.rows();
    if (!entry.a.allFinite()) {
        EXPECT_NE(info, 0);
        return;
    }
    if (entry.info >= 0) {
        EXPECT_EQ(info, entry.info);
    }
    if (info != 0) {
        EXPECT_EQ(lu(info - 1, info - 1), Complex(0));
        return;
    }
    Matrix exchanged = entry.a;
    for (Eigen::Index k = 0; k < n; ++k) {
        const int row = pivots[std::size_t(k)];
        ASSERT_TRUE(pivoting == Pivoting::none ? row == k : row >= k && row < n);
        exchanged.row(k).swap(exchanged.row(row));
    }
    const Matrix l = lu.triangularView<Eigen::UnitLower>();
    const Matrix u = lu.triangularView<Eigen::Upper>();
    double growth = 1;
    if (pivoting == Pivoting::partial) {
        // Entries are compared by the larger of their parts.
        EXPECT_LE(largest(l), 1.5);
    } else {
        growth = std::max(1.0, largest(l) * largest(u) / largest(entry.a));
    }
    EXPECT_LT(ratio<T>(one_norm(exchanged - l * u), entry.a), ratio_limit * growth);
}

template <Scalar T>
void check_inverse(const ZooMatrix& entry, const Matrix& inverse, int info) {
    if (info != 0) {
        EXPECT_TRUE((inverse.array() == Complex(0)).all());
        return;
    }
    const Eigen::Index n = inverse.rows();
    const double error = one_norm(entry.a * inverse - Matrix::Identity(n, n));
    EXPECT_LT(n == 0 ? 0 : ratio<T>(error, entry.a) / one_norm(inverse), ratio_limit);
}

template <Scalar T>
void check_determinant(const ZooMatrix& entry, Complex determinant) {
    if (entry.info > 0) {
        EXPECT_EQ(determinant, Complex(0));
        return;
    }
    if (!(entry.condition > 0)) return;
    const Complex exact = entry.a.determinant();
    using Limits = std::numeric_limits<Real<T>>;
    if (std::abs(exact) > double(Limits::max()) / 1e6 ||
        std::abs(exact) < double(Limits::min()) * 1e6) {
        return;
    }
    EXPECT_LT(std::abs(determinant - exact),
              ratio_limit * double(entry.a.rows()) * eps<T> * entry.condition * std::abs(exact));
}

#define APERTURE_INSTANTIATE(T)                                                                \
    template std::vector<ZooMatrix> general_zoo<T>(int, unsigned);                             \
    template std::vector<ZooMatrix> dominant_zoo<T>(int, unsigned);                            \
    template void check_cholesky_factor<T>(const ZooMatrix&, const Matrix&, int);              \
    template void check_lu_factor<T>(const ZooMatrix&, const Matrix&, const std::vector<int>&, \
                                     int, Pivoting);                                           \
    template void check_inverse<T>(const ZooMatrix&, const Matrix&, int);                      \
    template void check_determinant<T>(const ZooMatrix&, Complex);
APERTURE_INSTANTIATE(float)
APERTURE_INSTANTIATE(double)
APERTURE_INSTANTIATE(std::complex<float>)
APERTURE_INSTANTIATE(std::complex<double>)
#undef APERTURE_INSTANTIATE

}  // namespace aperture::dense::oracle
