// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/dense/oracle.hpp"

/// Valid and invalid inputs of a positive definite solver, all of one order.
namespace aperture::dense::oracle {

struct ZooMatrix {
    std::string name;
    Matrix a;              ///< entries rounded to T
    double condition = 0;  ///< 2-norm; 0 where unknown
    int info = 0;          ///< what `solve` must report; -1 where rounding decides
};

template <Scalar T>
Matrix random_matrix(Eigen::Index rows, Eigen::Index columns, std::mt19937& generator);

/// B + B^H of a random B. Entries may not be representable in T.
template <Scalar T>
Matrix random_hermitian(Eigen::Index n, std::mt19937& generator);

/// Q diag(values) Q^H with a random unitary Q.
template <Scalar T>
Matrix with_spectrum(const Eigen::VectorXd& values, std::mt19937& generator);

/// Values from 1 to 1/condition, equally spaced in the logarithm.
Eigen::VectorXd geometric(Eigen::Index n, double condition);

template <Scalar T>
std::vector<ZooMatrix> zoo(int n, unsigned seed);

/// A X, or X itself if A is not finite.
Matrix right_hand_sides(const Matrix& a, const Matrix& x);

}  // namespace aperture::dense::oracle
