// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/spectrum.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace aperture::rpca::cpu {

struct Spectrum::State {
    Eigen::MatrixXd matrix;
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
};

Spectrum::Spectrum(index_t order)
    : state_(std::make_unique<State>(State{
          Eigen::MatrixXd(order, order), Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(order)})) {}
Spectrum::~Spectrum() = default;
Spectrum::Spectrum(Spectrum&&) noexcept = default;
Spectrum& Spectrum::operator=(Spectrum&&) noexcept = default;

void Spectrum::decompose(core::View<const double, 2, core::Host> gram) {
    Eigen::MatrixXd& matrix = state_->matrix;
    for (index_t j = 0; j < matrix.cols(); ++j) {
        for (index_t i = 0; i < matrix.rows(); ++i) matrix(i, j) = gram(i, j);
    }
    state_->solver.compute(matrix);
}

double Spectrum::singular_value(index_t i) const {
    const auto& squares = state_->solver.eigenvalues();
    return std::sqrt(std::max(squares(squares.size() - 1 - i), 0.0));
}

double Spectrum::vector(index_t row, index_t i) const {
    const auto& vectors = state_->solver.eigenvectors();
    return vectors(row, vectors.cols() - 1 - i);
}

index_t Spectrum::count_above(double threshold) const {
    const index_t order = state_->matrix.cols();
    index_t count = 0;
    // Of one at the threshold, rounding alone would decide.
    while (count < order && singular_value(count) > threshold * (1 + 1e-10)) ++count;
    return count;
}

}  // namespace aperture::rpca::cpu
