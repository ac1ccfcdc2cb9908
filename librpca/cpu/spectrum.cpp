// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/spectrum.hpp"

#include "librpca/cpu/eigen.hpp"

namespace aperture::rpca::cpu {

struct Spectrum::State {
    Eigen::VectorXd values;  ///< descending
    Eigen::MatrixXd vectors;
};

namespace {

Eigen::MatrixXd matrix_of(core::View<const double, 2, core::Host> view) {
    Eigen::MatrixXd matrix(view.extent[0], view.extent[1]);
    for (index_t j = 0; j < matrix.cols(); ++j) {
        for (index_t i = 0; i < matrix.rows(); ++i) matrix(i, j) = view(i, j);
    }
    return matrix;
}

}  // namespace

Spectrum::Spectrum(index_t order) : state_(std::make_unique<State>()) {
    state_->values.resize(order);
    state_->vectors.resize(order, order);
}
Spectrum::~Spectrum() = default;
Spectrum::Spectrum(Spectrum&&) noexcept = default;
Spectrum& Spectrum::operator=(Spectrum&&) noexcept = default;

namespace {

/// With vectors of this order.
index_t bytes_of_matrices(index_t order, index_t matrices) {
    constexpr index_t vectors = 16;
    return (matrices * order + vectors) * order * static_cast<index_t>(sizeof(double));
}

}  // namespace

// Measured of Eigen 3.4: 3 matrices beside the vectors, and 10.3.
index_t Spectrum::gram_bytes(index_t order) { return bytes_of_matrices(order, 4); }
index_t Spectrum::triangle_bytes(index_t order) { return bytes_of_matrices(order, 12); }

void Spectrum::decompose_gram(core::View<const double, 2, core::Host> gram) {
    Eigen::VectorXd eigenvalues;
    Eigen::MatrixXd eigenvectors;
    decompose_symmetric(matrix_of(gram), eigenvalues, eigenvectors);
    state_->values = eigenvalues.reverse().cwiseMax(0).cwiseSqrt();
    state_->vectors = eigenvectors.rowwise().reverse();
}

void Spectrum::decompose_triangle(core::View<const double, 2, core::Host> r) {
    decompose_square(matrix_of(r), state_->values, state_->vectors);
}

double Spectrum::singular_value(index_t i) const { return state_->values(i); }
double Spectrum::vector(index_t row, index_t i) const { return state_->vectors(row, i); }

index_t Spectrum::count_above(double threshold) const {
    const index_t order = state_->values.size();
    index_t count = 0;
    // For a value at the threshold, rounding alone would decide.
    while (count < order && singular_value(count) > threshold * (1 + 1e-10)) ++count;
    return count;
}

}  // namespace aperture::rpca::cpu
