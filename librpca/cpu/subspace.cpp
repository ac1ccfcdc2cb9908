// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/subspace.hpp"

#include <algorithm>
#include <cmath>

#include "librpca/cpu/eigen.hpp"

namespace aperture::rpca::cpu {

using Matrix = Eigen::MatrixXd;

struct Subspace::State {
    index_t most;  ///< requested rank
    Matrix basis;
    Matrix coefficients;
    Matrix directions;
    Eigen::VectorXd singular_values;
};

namespace {

/// Eigenvalues of [U Y]^T [U Y], columns scaled to unit length, that are rounding error below this.
constexpr double dependent = 1e-7;

/// R and its pseudo-inverse with R^T R = gram.
struct Root {
    Matrix r;
    Matrix inverse;
};

Root root_of(const Matrix& gram) {
    const index_t n = gram.cols();
    Eigen::VectorXd length = gram.diagonal().cwiseMax(0).cwiseSqrt();
    Eigen::VectorXd inverse_length(n);
    for (index_t i = 0; i < n; ++i) inverse_length(i) = length(i) > 0 ? 1 / length(i) : 0;
    const Matrix unit = inverse_length.asDiagonal() * gram * inverse_length.asDiagonal();
    Eigen::VectorXd eigenvalues;
    Matrix eigenvectors;
    decompose_symmetric(unit, eigenvalues, eigenvectors);
    index_t lost = 0;
    while (lost < n && eigenvalues(lost) <= dependent) ++lost;
    const Eigen::VectorXd roots = eigenvalues.tail(n - lost).cwiseSqrt();
    const Matrix vectors = eigenvectors.rightCols(n - lost);
    return {roots.asDiagonal() * vectors.transpose() * length.asDiagonal(),
            inverse_length.asDiagonal() * vectors * roots.cwiseInverse().asDiagonal()};
}

}  // namespace

Subspace::Subspace(index_t frames, index_t rank, index_t width)
    : k_({2 * width, frames}),
      state_(core::owned(std::make_unique<State>(State{rank, {}, {}, {}, {}}))) {
    std::fill(k_.begin(), k_.end(), 0.0);
}

index_t Subspace::bytes(index_t frames, index_t rank, index_t width) {
    const index_t n = 2 * width;
    // K, R K and parts of it; R, its inverse, and decompositions.
    return (n * frames * 3 + rank * frames * 4 + n * n * 8) * static_cast<index_t>(sizeof(double));
}

void Subspace::truncate(core::View<const double, 2, core::Host> gram, double least) {
    State& s = *state_;
    const index_t n = gram.extent[0];
    const Root root = root_of(Eigen::Map<const RowMajor>(gram.data, n, n));
    const Matrix x = root.r * Eigen::Map<const RowMajor>(k_.data(), n, k_.extent()[1]);
    rank_ = 0;
    s.singular_values.resize(0);
    s.directions.resize(k_.extent()[1], 0);
    s.coefficients.resize(0, k_.extent()[1]);
    if (x.rows() == 0) return;
    Eigen::VectorXd eigenvalues;
    Matrix eigenvectors;
    decompose_symmetric(x * x.transpose(), eigenvalues, eigenvectors);
    s.singular_values = eigenvalues.reverse().cwiseMax(0).cwiseSqrt();
    const index_t most = std::min<index_t>(s.most, s.singular_values.size());
    while (rank_ < most && s.singular_values(rank_) > least * s.singular_values(0)) ++rank_;
    const Matrix left = eigenvectors.rowwise().reverse().leftCols(rank_);
    s.basis = root.inverse * left;
    s.coefficients = left.transpose() * x;
    s.directions =
        s.coefficients.transpose() * s.singular_values.head(rank_).cwiseInverse().asDiagonal();
}

void Subspace::add_tangent(core::View<const double, 2, core::Host> cross) {
    const State& s = *state_;
    const index_t frames = k_.extent()[1];
    const index_t width = k_.extent()[0] / 2;
    const Matrix b = Eigen::Map<const RowMajor>(cross.data, cross.extent[0], frames).topRows(rank_);
    Eigen::Map<RowMajor> k(k_.data(), 2 * width, frames);
    k.setZero();
    k.topRows(rank_) = s.coefficients + b - (b * s.directions) * s.directions.transpose();
    k.middleRows(width, rank_) = s.directions.transpose();
}

double Subspace::singular_value(index_t i) const {
    return i < state_->singular_values.size() ? state_->singular_values(i) : 0;
}
double Subspace::basis(index_t row, index_t column) const { return state_->basis(row, column); }
double Subspace::coefficient(index_t row, index_t frame) const {
    return state_->coefficients(row, frame);
}
double Subspace::direction(index_t frame, index_t column) const {
    return state_->directions(frame, column);
}

}  // namespace aperture::rpca::cpu
