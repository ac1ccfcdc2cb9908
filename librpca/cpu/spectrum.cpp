// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/spectrum.hpp"

// A program may hold Eigen compiled with other options: one linker symbol for both would mix them.
#define Eigen eigen_of_aperture
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

namespace aperture::rpca::cpu {

struct Spectrum::State {
    Eigen::MatrixXd matrix;
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigenvectors;
    Eigen::BDCSVD<Eigen::MatrixXd> svd;
    Eigen::VectorXd values;   ///< the largest first
    Eigen::MatrixXd vectors;  ///< column by column, as they are

    // In place: a solver that has not run holds no valid state to copy.
    explicit State(index_t order)
        : matrix(order, order), eigenvectors(order), values(order), vectors(order, order) {}

    void take(core::View<const double, 2, core::Host> from) {
        for (index_t j = 0; j < matrix.cols(); ++j) {
            for (index_t i = 0; i < matrix.rows(); ++i) matrix(i, j) = from(i, j);
        }
    }
};

Spectrum::Spectrum(index_t order) : state_(std::make_unique<State>(order)) {}
Spectrum::~Spectrum() = default;
Spectrum::Spectrum(Spectrum&&) noexcept = default;
Spectrum& Spectrum::operator=(Spectrum&&) noexcept = default;

void Spectrum::decompose_gram(core::View<const double, 2, core::Host> gram) {
    State& s = *state_;
    s.take(gram);
    s.eigenvectors.compute(s.matrix);
    s.values = s.eigenvectors.eigenvalues().reverse().cwiseMax(0).cwiseSqrt();
    s.vectors = s.eigenvectors.eigenvectors().rowwise().reverse();
}

void Spectrum::decompose_triangle(core::View<const double, 2, core::Host> r) {
    State& s = *state_;
    s.take(r);
    s.svd.compute(s.matrix, Eigen::ComputeFullV);
    s.values = s.svd.singularValues();
    s.vectors = s.svd.matrixV();
}

double Spectrum::singular_value(index_t i) const { return state_->values(i); }
double Spectrum::vector(index_t row, index_t i) const { return state_->vectors(row, i); }

index_t Spectrum::count_above(double threshold) const {
    const index_t order = state_->matrix.cols();
    index_t count = 0;
    // Of one at the threshold, rounding alone would decide.
    while (count < order && singular_value(count) > threshold * (1 + 1e-10)) ++count;
    return count;
}

}  // namespace aperture::rpca::cpu
