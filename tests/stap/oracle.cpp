// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/oracle.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <numbers>

namespace aperture::stap::oracle {
namespace {

template <class T, int Rank>
void fill(core::Array<T, Rank>& array, T value) {
    std::fill(array.begin(), array.end(), value);
}

/// Whether cell r is `cell` or at most `guard` cells away.
bool near(index_t r, index_t cell, index_t guard) { return std::abs(r - cell) <= guard; }

std::vector<index_t> every_cell(const Problem& problem) {
    std::vector<index_t> cells;
    for (index_t r = 0; r < problem.shape.range_cells; ++r) cells.push_back(r);
    return cells;
}

}  // namespace

Cube widen(core::View<const cfloat, 3, core::Host> cube) {
    Cube wide(cube.extent);
    for (index_t c = 0; c < cube.extent[0]; ++c)
        for (index_t k = 0; k < cube.extent[1]; ++k)
            for (index_t r = 0; r < cube.extent[2]; ++r) wide(c, k, r) = Complex(cube(c, k, r));
    return wide;
}

Cube doppler(core::View<const cfloat, 3, core::Host> pulses, const std::vector<double>& taper,
             int doppler_bins) {
    Cube cube({pulses.extent[0], doppler_bins, pulses.extent[2]});
    fill(cube, Complex(0));
    for (index_t c = 0; c < pulses.extent[0]; ++c)
        for (index_t k = 0; k < doppler_bins; ++k)
            for (index_t p = 0; p < pulses.extent[1]; ++p) {
                const double turns = static_cast<double>(k * p % doppler_bins) / doppler_bins;
                const Complex factor =
                    std::polar(taper[static_cast<std::size_t>(p)], -2 * std::numbers::pi * turns);
                for (index_t r = 0; r < pulses.extent[2]; ++r)
                    cube(c, k, r) += factor * Complex(pulses(c, p, r));
            }
    return cube;
}

Vector snapshot(const Problem& problem, const Cube& cube, index_t k, index_t r) {
    const index_t taps = problem.parameters.temporal_taps;
    Vector s(problem.order);
    for (index_t c = 0; c < problem.shape.channels; ++c)
        for (index_t t = 0; t < taps; ++t) {
            const index_t bin = k - (taps - 1) / 2 + t + problem.doppler_bins;
            s(c * taps + t) = cube(c, bin % problem.doppler_bins, r);
        }
    return s;
}

std::vector<Matrix> snapshot_covariances(const ClutterScene& scene, int doppler_bins, int taps) {
    const index_t channels = scene.shape.channels;
    const index_t pulses = scene.shape.pulses;
    const core::Array<Complex, 2> truth = true_covariance(scene);
    Matrix r(channels * pulses, channels * pulses);
    for (index_t i = 0; i < r.rows(); ++i)
        for (index_t j = 0; j < r.cols(); ++j) r(i, j) = truth(i, j);
    std::vector<Matrix> covariances;
    for (index_t k = 0; k < doppler_bins; ++k) {
        Matrix f = Matrix::Zero(channels * taps, r.rows());
        for (index_t c = 0; c < channels; ++c)
            for (index_t t = 0; t < taps; ++t)
                for (index_t p = 0; p < pulses; ++p) {
                    const auto bin = static_cast<double>((k - (taps - 1) / 2 + t) * p);
                    f(c * taps + t, c * pulses + p) =
                        std::polar(1.0, -2 * std::numbers::pi * bin / doppler_bins);
                }
        covariances.emplace_back(f * r * f.adjoint());
    }
    return covariances;
}

std::vector<index_t> window_cells(const Problem& problem, index_t cell) {
    const index_t guard = problem.parameters.guard;
    const index_t width = problem.parameters.training_block + 2 * guard + 1;
    const index_t wanted = cell - guard - problem.parameters.training_block / 2;
    const index_t begin = std::clamp<index_t>(wanted, 0, problem.shape.range_cells - width);
    std::vector<index_t> cells;
    for (index_t r = begin; r < begin + width; ++r)
        if (!near(r, cell, guard)) cells.push_back(r);
    return cells;
}

namespace {

/// The training cells of the weights of `cell`.
std::vector<index_t> training_cells_of(const Problem& problem, index_t cell) {
    const index_t all_cells = problem.shape.range_cells;
    std::vector<index_t> cells;
    if (problem.parameters.training == Training::sliding) return window_cells(problem, cell);
    if (problem.parameters.training == Training::all) {
        for (index_t r = 0; r < all_cells; ++r)
            if (!near(r, cell, problem.parameters.guard)) cells.push_back(r);
        return cells;
    }
    const index_t block = problem.parameters.training_block;
    const index_t begin = std::min(cell / block * block, all_cells - block);
    for (index_t r = begin; r < begin + block; ++r) cells.push_back(r);
    return cells;
}

Matrix sum_of_outer_products(const Problem& problem, const Cube& cube, index_t k,
                             const std::vector<index_t>& cells) {
    Matrix sum = Matrix::Zero(problem.order, problem.order);
    for (index_t r : cells) {
        const Vector s = snapshot(problem, cube, k, r);
        sum += s * s.adjoint();
    }
    return sum;
}

/// The diagonal loading of the mean over `cells` cells, whose sum is `sum`.
double loading_of(const Problem& problem, const Matrix& sum, std::size_t cells) {
    const DiagonalLoading& loading = problem.parameters.loading;
    if (!loading.relative) return loading.value;
    return loading.value * sum.trace().real() / static_cast<double>(cells) / problem.order;
}

/// Sum over `cells`, plus the loading of the mean over `loading_cells` times their number.
Estimate estimate(const Problem& problem, const Cube& cube, index_t k,
                  const std::vector<index_t>& cells, const std::vector<index_t>& loading_cells) {
    const Matrix reference = sum_of_outer_products(problem, cube, k, loading_cells);
    const double loading = loading_of(problem, reference, loading_cells.size()) *
                           static_cast<double>(loading_cells.size());
    Matrix sum = sum_of_outer_products(problem, cube, k, cells);
    sum += loading * Matrix::Identity(problem.order, problem.order);
    return {sum, static_cast<index_t>(cells.size())};
}

/// False if, up to the rounding of a sum over `e.cells` cells, an element of the snapshots is a
/// combination of those before it. Its pivot is the part of its power that they do not explain.
bool is_definite(const Estimate& e, const Eigen::LLT<Matrix>& factor) {
    if (factor.info() != Eigen::Success) return false;
    const double rounding = static_cast<double>(e.cells * e.sum.rows()) * 0x1p-52;
    for (index_t i = 0; i < e.sum.rows(); ++i) {
        if (!(std::norm(factor.matrixLLT()(i, i)) > rounding * e.sum(i, i).real())) return false;
    }
    return true;
}

/// |y|^2 of a cell over the mean of its reference cells.
double cfar_statistic(const Problem& problem, const core::Array<Complex, 3>& output, index_t d,
                      index_t k, index_t cell) {
    double sum = 0;
    const std::vector<index_t> reference = window_cells(problem, cell);
    for (index_t r : reference) sum += std::norm(output(d, k, r));
    const double mean = sum / static_cast<double>(reference.size());
    return mean > 0 ? std::norm(output(d, k, cell)) / mean : 0;
}

}  // namespace

Estimate weight_estimate(const Problem& problem, const Cube& cube, index_t k, index_t cell) {
    const std::vector<index_t> cells = training_cells_of(problem, cell);
    const bool all = problem.parameters.training == Training::all;
    return estimate(problem, cube, k, cells, all ? every_cell(problem) : cells);
}

namespace {

/// The estimate for the statistic of `cell`, without the cell itself. The loading is that of the
/// weights.
Estimate detection_estimate(const Problem& problem, const Cube& cube, index_t k, index_t cell) {
    if (problem.parameters.training != Training::block)
        return weight_estimate(problem, cube, k, cell);
    const std::vector<index_t> block = training_cells_of(problem, cell);
    std::vector<index_t> others = block;
    std::erase(others, cell);
    return estimate(problem, cube, k, others, block);
}

}  // namespace

std::optional<Vector> solve(const Matrix& r, const Vector& v) {
    const Eigen::LLT<Matrix> factor(r);
    if (factor.info() != Eigen::Success) return std::nullopt;
    return Vector(factor.solve(v));
}

Matrix solve_each(const Matrix& r, const Matrix& v) { return Eigen::LLT<Matrix>(r).solve(v); }

Matrix orthonormal_basis(const Matrix& a) { return a.householderQr().householderQ(); }

std::vector<double> eigenvalues(const Matrix& r) {
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(r, Eigen::EigenvaluesOnly);
    return {solver.eigenvalues().begin(), solver.eigenvalues().end()};
}

Matrix inverse_root(const Matrix& r) {
    return Eigen::SelfAdjointEigenSolver<Matrix>(r).operatorInverseSqrt();
}

double gamma(const Vector& w, const Vector& v) {
    const double gain = std::abs(w.dot(v));
    return gain > 0 ? 1 / gain : 1;
}

Vector steering_vector(core::View<const cfloat, 2, core::Host> steering, index_t d) {
    Vector v(steering.extent[1]);
    for (index_t i = 0; i < steering.extent[1]; ++i) v(i) = Complex(steering(d, i));
    return v;
}

Matrix steering_vectors(core::View<const cfloat, 2, core::Host> steering) {
    Matrix all(steering.extent[1], steering.extent[0]);
    for (index_t d = 0; d < steering.extent[0]; ++d) all.col(d) = steering_vector(steering, d);
    return all;
}

namespace {

/// `factor` is the factor of the sum of `e`.
double statistic(Detector detector, const Estimate& e, const Eigen::LLT<Matrix>& factor,
                 const Vector& v, const Vector& x) {
    if (!is_definite(e, factor)) return 0;
    const Vector mv = factor.solve(v);
    const double a = v.dot(mv).real();
    const double b_squared = std::norm(mv.dot(x));
    const double c = x.dot(factor.solve(x)).real();
    if (detector == Detector::amf) return static_cast<double>(e.cells) * b_squared / a;
    if (detector == Detector::ace) return b_squared / (a * c);
    return b_squared / (a * (1 + c));
}

}  // namespace

double statistic(Detector detector, const Estimate& e, const Vector& v, const Vector& x) {
    return statistic(detector, e, Eigen::LLT<Matrix>(e.sum), v, x);
}

Adapted adapt(const Problem& problem, const Cube& cube,
              core::View<const cfloat, 2, core::Host> steering) {
    const index_t bins = problem.doppler_bins;
    const index_t cells = problem.shape.range_cells;
    const index_t n = problem.order;
    const index_t directions = problem.steering_vectors;
    const Detector detector = problem.parameters.detector;
    const bool all = problem.parameters.training == Training::all;
    const bool block = problem.parameters.training == Training::block;
    Adapted result{core::Array<Complex, 3>({directions, bins, cells}),
                   core::Array<Complex, 4>({bins, problem.training_sets, n, n}),
                   core::Array<Complex, 4>({bins, problem.training_sets, directions, n}),
                   core::Array<double, 3>({directions, bins, cells})};
    fill(result.output, Complex(0));
    fill(result.weights, Complex(0));
    fill(result.statistic, 0.0);

    const Matrix vectors = steering_vectors(steering);
    for (index_t k = 0; k < bins; ++k) {
        const Estimate everything =
            estimate(problem, cube, k, every_cell(problem), every_cell(problem));
        Matrix mean;
        Eigen::LLT<Matrix> factor;
        for (index_t r = 0; r < cells; ++r) {
            const index_t set = all ? 0 : block ? r / problem.parameters.training_block : r;
            if (!block || r % problem.parameters.training_block == 0) {
                mean = weight_estimate(problem, cube, k, r).mean();
                factor.compute(mean);
            }
            const Matrix reported = all ? everything.mean() : mean;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < n; ++j) result.covariance(k, set, i, j) = reported(i, j);
            const Vector x = snapshot(problem, cube, k, r);
            for (index_t d = 0; d < directions; ++d) {
                if (factor.info() != Eigen::Success) continue;
                const Vector w = factor.solve(vectors.col(d));
                result.output(d, k, r) = gamma(w, vectors.col(d)) * w.dot(x);
                for (index_t i = 0; !all && i < n; ++i) result.weights(k, set, d, i) = w(i);
            }
            if (detector == Detector::none || detector == Detector::cfar) continue;
            const Estimate left = detection_estimate(problem, cube, k, r);
            const Eigen::LLT<Matrix> left_factor(left.sum);
            for (index_t d = 0; d < directions; ++d)
                result.statistic(d, k, r) =
                    statistic(detector, left, left_factor, vectors.col(d), x);
        }
    }
    if (detector == Detector::cfar)
        for (index_t d = 0; d < directions; ++d)
            for (index_t k = 0; k < bins; ++k)
                for (index_t r = 0; r < cells; ++r)
                    result.statistic(d, k, r) = cfar_statistic(problem, result.output, d, k, r);
    return result;
}

}  // namespace aperture::stap::oracle
