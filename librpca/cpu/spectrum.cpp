// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/spectrum.hpp"

#include "librpca/cpu/eigen.hpp"

namespace aperture::rpca::cpu {
namespace {

/// With vectors of this order.
index_t bytes_of_matrices(index_t order, index_t matrices) {
    constexpr index_t vectors = 16;
    return (matrices * order + vectors) * order * static_cast<index_t>(sizeof(double));
}

Eigen::MatrixXd matrix_of(core::View<const double, 2, core::Host> view) {
    return Eigen::Map<const RowMajor>(view.data, view.extent[0], view.extent[1]);
}

}  // namespace

// Measured of Eigen 3.4: 3 matrices beside the vectors, and 10.3.
index_t Spectrum::gram_bytes(index_t order) { return bytes_of_matrices(order, 4); }
index_t Spectrum::triangle_bytes(index_t order) { return bytes_of_matrices(order, 12); }

void Spectrum::decompose_gram(core::View<const double, 2, core::Host> gram) {
    Eigen::VectorXd values;
    Eigen::MatrixXd vectors;
    decompose_symmetric(matrix_of(gram), values, vectors);
    const index_t order = values_.size();
    Eigen::Map<Eigen::VectorXd>(values_.data(), order) = values.reverse().cwiseMax(0).cwiseSqrt();
    Eigen::Map<Eigen::MatrixXd>(vectors_.data(), order, order) = vectors.rowwise().reverse();
}

void Spectrum::decompose_triangle(core::View<const double, 2, core::Host> r) {
    Eigen::VectorXd values;
    Eigen::MatrixXd vectors;
    decompose_square(matrix_of(r), values, vectors);
    const index_t order = values_.size();
    Eigen::Map<Eigen::VectorXd>(values_.data(), order) = values;
    Eigen::Map<Eigen::MatrixXd>(vectors_.data(), order, order) = vectors;
}

double Spectrum::singular_value(index_t i) const { return values_(i); }
double Spectrum::vector(index_t row, index_t i) const { return vectors_(i, row); }

index_t Spectrum::count_above(double threshold) const {
    index_t count = 0;
    // For a value at the threshold, rounding alone would decide.
    while (count < values_.size() && values_(count) > threshold * (1 + 1e-10)) ++count;
    return count;
}

}  // namespace aperture::rpca::cpu
