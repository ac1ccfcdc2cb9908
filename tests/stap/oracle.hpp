// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <complex>
#include <optional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/simulation.hpp"

/// STAP by its formulae: double precision, one thread, no down-dating and no running sums. A
/// covariance without certain cells is always summed anew.
namespace aperture::stap::oracle {

using Complex = std::complex<double>;
using Matrix = Eigen::MatrixXcd;
using Vector = Eigen::VectorXcd;
using Cube = core::Array<Complex, 3>;

/// The fp32 cube in double precision.
Cube widen(core::View<const cfloat, 3, core::Host> cube);

/// X[c][k][r] = sum_p taper[p] x[c][p][r] exp(-j 2 pi k p / K)
Cube doppler(core::View<const cfloat, 3, core::Host> pulses, const std::vector<double>& taper,
             int doppler_bins);

/// S(r,k)[c T + t] = X[c][(k - (T-1)/2 + t) mod K][r]
Vector snapshot(const Problem& problem, const Cube& cube, index_t k, index_t r);

/// The true covariances of the snapshots of every Doppler bin of a scene, F R F^H with F the taps
/// of the transform without taper.
std::vector<Matrix> snapshot_covariances(const ClutterScene& scene, int doppler_bins, int taps);

/// The N_R + 2G + 1 cells around `cell`, shifted inwards at the ends, less the cell and its guard.
std::vector<index_t> window_cells(const Problem& problem, index_t cell);

/// A sum of outer products with its loading, and how many cells it sums.
struct Estimate {
    Matrix sum;
    index_t cells = 0;
    /// The covariance estimate R.
    Matrix mean() const { return sum / static_cast<double>(cells); }
};

/// The estimate for the weights of `cell`. With Training::all the loading is that of all cells.
Estimate weight_estimate(const Problem& problem, const Cube& cube, index_t k, index_t cell);

/// Solution of R w = v; nothing if R is not positive definite.
std::optional<Vector> solve(const Matrix& r, const Vector& v);
/// Column j solves R w = v_j, column j of `v`; R is positive definite.
Matrix solve_each(const Matrix& r, const Matrix& v);
/// Q of a = Q R.
Matrix orthonormal_basis(const Matrix& a);

/// Eigenvalues of a Hermitian matrix, in ascending order.
std::vector<double> eigenvalues(const Matrix& r);
/// The inverse of a positive definite matrix's Hermitian square root.
Matrix inverse_root(const Matrix& r);

/// gamma = 1 / |w^H v|; 1 if w^H v is 0.
double gamma(const Vector& w, const Vector& v);

Vector steering_vector(core::View<const cfloat, 2, core::Host> steering, index_t d);
/// All steering vectors, one a column.
Matrix steering_vectors(core::View<const cfloat, 2, core::Host> steering);

/// AMF, ACE or GLRT of snapshot x for `e`, which does not contain x; 0 if `e` is singular.
double statistic(Detector detector, const Estimate& e, const Vector& v, const Vector& x);

/// All results of the pipeline (see Results), from a cube of Doppler bins.
struct Adapted {
    core::Array<Complex, 3> output;
    core::Array<Complex, 4> covariance;
    core::Array<Complex, 4> weights;  ///< zero for Training::all, which has none per set
    core::Array<double, 3> statistic;
};

Adapted adapt(const Problem& problem, const Cube& cube,
              core::View<const cfloat, 2, core::Host> steering);

/// 10 log10(sum |reference|^2 / sum |reference - value|^2), PERFECT's measure of accuracy; 300 if
/// they are equal, -300 if a value is not a number.
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
