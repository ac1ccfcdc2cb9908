// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program may contain Eigen compiled with other options. Under its own name the linker would
// merge the two.
#define Eigen eigen_of_aperture
#include <Eigen/Core>

/// Eigen's decompositions, in one translation unit because they take long to compile.
namespace aperture::rpca::cpu {

/// As core::View has matrices.
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Eigenvalues, ascending, and eigenvectors, column by column, of a symmetric matrix.
void decompose_symmetric(const Eigen::MatrixXd& matrix, Eigen::VectorXd& values,
                         Eigen::MatrixXd& vectors);

/// Singular values, descending, and right singular vectors, column by column, of a square matrix.
void decompose_square(const Eigen::MatrixXd& matrix, Eigen::VectorXd& values,
                      Eigen::MatrixXd& vectors);

}  // namespace aperture::rpca::cpu
