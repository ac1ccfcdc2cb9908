// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/eigen.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

namespace aperture::rpca::cpu {

void decompose_symmetric(const Eigen::MatrixXd& matrix, Eigen::VectorXd& values,
                         Eigen::MatrixXd& vectors) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
    values = solver.eigenvalues();
    vectors = solver.eigenvectors();
}

void decompose_square(const Eigen::MatrixXd& matrix, Eigen::VectorXd& values,
                      Eigen::MatrixXd& vectors) {
    const Eigen::BDCSVD<Eigen::MatrixXd> solver(matrix, Eigen::ComputeFullV);
    values = solver.singularValues();
    vectors = solver.matrixV();
}

}  // namespace aperture::rpca::cpu
