// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Unclever, and g++ 12 warns of its own AVX-512 header otherwise.
#define EIGEN_DONT_VECTORIZE

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/stap/parameters.hpp"

/// STAP written down once more as the formulae say it: double precision, one thread, no down-dating
/// and no running sum. Everything that leaves cells out of a covariance starts over without them.
namespace aperture::stap::oracle {

using Complex = std::complex<double>;
using Matrix = Eigen::MatrixXcd;
using Vector = Eigen::VectorXcd;
using Cube = core::Array<Complex, 3>;

template <class T, int Rank>
void fill(core::Array<T, Rank>& array, T value) {
    std::fill(array.begin(), array.end(), value);
}

/// The fp32 cube in double precision.
inline Cube widen(core::View<const cfloat, 3, core::Host> cube) {
    Cube wide(cube.extent);
    for (index_t c = 0; c < cube.extent[0]; ++c)
        for (index_t k = 0; k < cube.extent[1]; ++k)
            for (index_t r = 0; r < cube.extent[2]; ++r) wide(c, k, r) = Complex(cube(c, k, r));
    return wide;
}

/// X[c][k][r] = sum_p taper[p] x[c][p][r] exp(-j 2 pi k p / K)
inline Cube doppler(core::View<const cfloat, 3, core::Host> pulses,
                    const std::vector<double>& taper, int doppler_bins) {
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

/// S(r,k)[c T + t] = X[c][(k - (T-1)/2 + t) mod K][r]
inline Vector snapshot(const Problem& problem, const Cube& cube, index_t k, index_t r) {
    const index_t taps = problem.parameters.temporal_taps;
    Vector s(problem.order);
    for (index_t c = 0; c < problem.shape.channels; ++c)
        for (index_t t = 0; t < taps; ++t) {
            const index_t bin = k - (taps - 1) / 2 + t + problem.doppler_bins;
            s(c * taps + t) = cube(c, bin % problem.doppler_bins, r);
        }
    return s;
}

/// All cells within `guard` of `cell`, itself included.
inline bool near(index_t r, index_t cell, index_t guard) { return std::abs(r - cell) <= guard; }

/// The N_R + 2G + 1 cells around `cell`, shifted inwards at the ends, less the cell and its guard.
inline std::vector<index_t> window_cells(const Problem& problem, index_t cell) {
    const index_t guard = problem.parameters.guard;
    const index_t width = problem.parameters.training_block + 2 * guard + 1;
    const index_t wanted = cell - guard - problem.parameters.training_block / 2;
    const index_t begin = std::clamp<index_t>(wanted, 0, problem.shape.range_cells - width);
    std::vector<index_t> cells;
    for (index_t r = begin; r < begin + width; ++r)
        if (!near(r, cell, guard)) cells.push_back(r);
    return cells;
}

/// The cells that the covariance for the weights of `cell` is estimated from.
inline std::vector<index_t> training_cells_of(const Problem& problem, index_t cell) {
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

/// A sum of outer products with its loading, and how many cells it sums.
struct Estimate {
    Matrix sum;
    index_t cells = 0;
    /// The covariance estimate R.
    Matrix mean() const { return sum / static_cast<double>(cells); }
};

inline Matrix sum_of_outer_products(const Problem& problem, const Cube& cube, index_t k,
                                    const std::vector<index_t>& cells) {
    Matrix sum = Matrix::Zero(problem.order, problem.order);
    for (index_t r : cells) {
        const Vector s = snapshot(problem, cube, k, r);
        sum += s * s.adjoint();
    }
    return sum;
}

/// The diagonal loading of the mean over `cells` cells whose sum is given.
inline double loading_of(const Problem& problem, const Matrix& sum, std::size_t cells) {
    const DiagonalLoading& loading = problem.parameters.loading;
    if (!loading.relative) return loading.value;
    return loading.value * sum.trace().real() / static_cast<double>(cells) / problem.order;
}

/// Sum over `cells` plus the loading of the mean over `loading_cells`, times their number.
inline Estimate estimate(const Problem& problem, const Cube& cube, index_t k,
                         const std::vector<index_t>& cells,
                         const std::vector<index_t>& loading_cells) {
    const Matrix reference = sum_of_outer_products(problem, cube, k, loading_cells);
    const double loading = loading_of(problem, reference, loading_cells.size()) *
                           static_cast<double>(loading_cells.size());
    Matrix sum = sum_of_outer_products(problem, cube, k, cells);
    sum += loading * Matrix::Identity(problem.order, problem.order);
    return {sum, static_cast<index_t>(cells.size())};
}

inline std::vector<index_t> every_cell(const Problem& problem) {
    std::vector<index_t> cells;
    for (index_t r = 0; r < problem.shape.range_cells; ++r) cells.push_back(r);
    return cells;
}

/// What the weights of `cell` come from. With Training::all the loading is that of all cells.
inline Estimate weight_estimate(const Problem& problem, const Cube& cube, index_t k, index_t cell) {
    const std::vector<index_t> cells = training_cells_of(problem, cell);
    const bool all = problem.parameters.training == Training::all;
    return estimate(problem, cube, k, cells, all ? every_cell(problem) : cells);
}

/// What the statistic of `cell` comes from: never the cell itself; the loading is that of the
/// weights.
inline Estimate detection_estimate(const Problem& problem, const Cube& cube, index_t k,
                                   index_t cell) {
    if (problem.parameters.training != Training::block)
        return weight_estimate(problem, cube, k, cell);
    const std::vector<index_t> block = training_cells_of(problem, cell);
    std::vector<index_t> others = block;
    std::erase(others, cell);
    return estimate(problem, cube, k, others, block);
}

/// Solution of R w = v, nothing where R is not positive definite.
inline std::optional<Vector> solve(const Matrix& r, const Vector& v) {
    const Eigen::LLT<Matrix> factor(r);
    if (factor.info() != Eigen::Success) return std::nullopt;
    return Vector(factor.solve(v));
}

/// gamma = 1 / |w^H v|, 1 where that is 0.
inline double gamma(const Vector& w, const Vector& v) {
    const double gain = std::abs(w.dot(v));
    return gain > 0 ? 1 / gain : 1;
}

inline Vector steering_vector(core::View<const cfloat, 2, core::Host> steering, index_t d) {
    Vector v(steering.extent[1]);
    for (index_t i = 0; i < steering.extent[1]; ++i) v(i) = Complex(steering(d, i));
    return v;
}

/// False where an element of the snapshots is, to the rounding of a sum over `e.cells` cells, a
/// combination of those before it: its pivot is what they leave of its power.
inline bool is_definite(const Estimate& e, const Eigen::LLT<Matrix>& factor) {
    if (factor.info() != Eigen::Success) return false;
    const double rounding = static_cast<double>(e.cells * e.sum.rows()) * 0x1p-52;
    for (index_t i = 0; i < e.sum.rows(); ++i) {
        if (!(std::norm(factor.matrixLLT()(i, i)) > rounding * e.sum(i, i).real())) return false;
    }
    return true;
}

/// AMF, ACE or GLRT of snapshot x against `e`, which does not contain x; 0 where `e` is singular.
inline double statistic(Detector detector, const Estimate& e, const Vector& v, const Vector& x) {
    const Eigen::LLT<Matrix> factor(e.sum);
    if (!is_definite(e, factor)) return 0;
    const Vector mv = factor.solve(v);
    const double a = v.dot(mv).real();
    const double b_squared = std::norm(mv.dot(x));
    const double c = x.dot(factor.solve(x)).real();
    if (detector == Detector::amf) return static_cast<double>(e.cells) * b_squared / a;
    if (detector == Detector::ace) return b_squared / (a * c);
    return b_squared / (a * (1 + c));
}

/// |y|^2 of a cell over the mean of its reference cells.
inline double cfar_statistic(const Problem& problem, const core::Array<Complex, 3>& output,
                             index_t d, index_t k, index_t cell) {
    double sum = 0;
    const std::vector<index_t> reference = window_cells(problem, cell);
    for (index_t r : reference) sum += std::norm(output(d, k, r));
    const double mean = sum / static_cast<double>(reference.size());
    return mean > 0 ? std::norm(output(d, k, cell)) / mean : 0;
}

/// Everything a run of the pipeline can give (see Results), from a cube of Doppler bins.
struct Adapted {
    core::Array<Complex, 3> output;
    core::Array<Complex, 4> covariance;
    core::Array<Complex, 4> weights;  ///< zero for Training::all, which has none per set
    core::Array<double, 3> statistic;
};

inline Adapted adapt(const Problem& problem, const Cube& cube,
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

    for (index_t k = 0; k < bins; ++k) {
        const Estimate everything =
            estimate(problem, cube, k, every_cell(problem), every_cell(problem));
        Estimate e;
        for (index_t r = 0; r < cells; ++r) {
            const index_t set = all ? 0 : block ? r / problem.parameters.training_block : r;
            if (!block || r % problem.parameters.training_block == 0)
                e = weight_estimate(problem, cube, k, r);
            const Matrix mean = e.mean();
            const Matrix reported = all ? everything.mean() : mean;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < n; ++j) result.covariance(k, set, i, j) = reported(i, j);
            const Vector x = snapshot(problem, cube, k, r);
            for (index_t d = 0; d < directions; ++d) {
                const Vector v = steering_vector(steering, d);
                const std::optional<Vector> w = solve(mean, v);
                if (!w) continue;
                result.output(d, k, r) = gamma(*w, v) * w->dot(x);
                for (index_t i = 0; !all && i < n; ++i) result.weights(k, set, d, i) = (*w)(i);
            }
            if (detector == Detector::none || detector == Detector::cfar) continue;
            const Estimate left = detection_estimate(problem, cube, k, r);
            for (index_t d = 0; d < directions; ++d)
                result.statistic(d, k, r) =
                    statistic(detector, left, steering_vector(steering, d), x);
        }
    }
    if (detector == Detector::cfar)
        for (index_t d = 0; d < directions; ++d)
            for (index_t k = 0; k < bins; ++k)
                for (index_t r = 0; r < cells; ++r)
                    result.statistic(d, k, r) = cfar_statistic(problem, result.output, d, k, r);
    return result;
}

/// 10 log10(sum |reference|^2 / sum |reference - value|^2), PERFECT's measure of accuracy; 300
/// where they are equal, -300 where a value is not a number.
class SnrDb {
  public:
    void add(Complex reference, Complex value) {
        signal_ += std::norm(reference);
        error_ += std::norm(reference - value);
    }
    double value() const {
        if (std::isnan(error_) || std::isnan(signal_)) return -300;
        if (error_ == 0) return 300;
        return 10 * std::log10(signal_ / error_);
    }

  private:
    double signal_ = 0;
    double error_ = 0;
};

}  // namespace aperture::stap::oracle
