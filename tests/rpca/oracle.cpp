// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/rpca/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace aperture::rpca::oracle {
namespace {

Matrix shrunk(const Matrix& m, double threshold) {
    return m.unaryExpr([&](double x) {
        return x > threshold ? x - threshold : x < -threshold ? x + threshold : 0.0;
    });
}

Matrix with_singular_values_shrunk(const Matrix& m, double threshold, int& rank) {
    const Eigen::JacobiSVD<Matrix> svd(m, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const Eigen::VectorXd kept = (svd.singularValues().array() - threshold).max(0);
    // Singular values at the threshold do not count; otherwise rounding would decide.
    rank = static_cast<int>((kept.array() > 1e-9 * threshold).count());
    return svd.matrixU() * kept.asDiagonal() * svd.matrixV().transpose();
}

Matrix mean_over_frames(const Matrix& m) {
    return m.rowwise().mean() * Eigen::RowVectorXd::Ones(m.cols());
}

/// The constant part has no penalty: it is the mean over the frames of m - S + Y / mu.
Split alternate(const Matrix& m, double lambda, int iterations, Matrix y, double mu, double growth,
                double largest_mu) {
    Split split;
    split.low_rank = mean_over_frames(m);
    split.sparse = shrunk(m - split.low_rank + y / mu, lambda / mu);
    for (int i = 0; i < iterations; ++i) {
        const Matrix w = m - split.sparse + y / mu;
        const Matrix constant = mean_over_frames(w);
        split.low_rank = constant + with_singular_values_shrunk(w - constant, 1 / mu, split.rank);
        ++split.rank;
        y += mu * (m - split.low_rank - split.sparse);
        mu = std::min(mu * growth, largest_mu);
        split.sparse = shrunk(m - split.low_rank + y / mu, lambda / mu);
    }
    split.iterations = iterations;
    return split;
}

}  // namespace

Split ialm(const Matrix& m, double lambda, int iterations) {
    const Matrix constant = mean_over_frames(m);
    const Matrix changing = m - constant;
    const double norm = std::hypot(constant.norm(), changing.jacobiSvd().singularValues()(0));
    const Matrix y = changing / std::max(norm, m.cwiseAbs().maxCoeff() / lambda);
    return alternate(m, lambda, iterations, y, 1.25 / norm, 1.5, 1.25e7 / norm);
}

Split admm(const Matrix& m, double lambda, int iterations) {
    const double mu = static_cast<double>(m.size()) / (4 * m.cwiseAbs().sum());
    return alternate(m, lambda, iterations, Matrix::Zero(m.rows(), m.cols()), mu, 1, mu);
}

template <class T>
core::Array<T, 2> frames_of(const Matrix& m) {
    core::Array<T, 2> frames({m.cols(), m.rows()});
    for (core::index_t f = 0; f < m.cols(); ++f) {
        for (core::index_t v = 0; v < m.rows(); ++v) frames(f, v) = static_cast<T>(m(v, f));
    }
    return frames;
}
template core::Array<float, 2> frames_of(const Matrix&);
template core::Array<double, 2> frames_of(const Matrix&);

template <class T>
Matrix matrix_of(core::View<const T, 2, core::Host> frames) {
    Matrix m(frames.extent[1], frames.extent[0]);
    for (core::index_t f = 0; f < m.cols(); ++f) {
        for (core::index_t v = 0; v < m.rows(); ++v) m(v, f) = static_cast<double>(frames(f, v));
    }
    return m;
}
template Matrix matrix_of(core::View<const float, 2, core::Host>);
template Matrix matrix_of(core::View<const double, 2, core::Host>);

Planted planted(core::index_t values, core::index_t frames, int rank, double share, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    const auto factor = [&](core::index_t rows) {
        Matrix m(rows, rank);
        for (auto& element : m.reshaped()) {
            element = normal(generator) / std::sqrt(static_cast<double>(rows));
        }
        return m;
    };
    const Matrix left = factor(values);
    Planted sum{left * factor(frames).transpose(), Matrix::Zero(values, frames)};
    for (auto& element : sum.sparse.reshaped()) {
        if (uniform(generator) < share) element = uniform(generator) < 0.5 ? -1 : 1;
    }
    return sum;
}

Matrix video_like(core::index_t values, core::index_t frames) {
    std::mt19937 generator(11);
    std::normal_distribution<double> normal;
    Matrix m(values, frames);
    for (core::index_t v = 0; v < values; ++v) {
        const double scene = 120 + 60 * std::sin(0.01 * static_cast<double>(v));
        for (core::index_t f = 0; f < frames; ++f) {
            const double light = 1 + 0.05 * std::sin(0.1 * static_cast<double>(f));
            const core::index_t object = values * f / frames;
            m(v, f) = std::abs(v - object) < values / 40
                          ? 20
                          : std::round(scene * light + normal(generator));
        }
    }
    return m;
}

}  // namespace aperture::rpca::oracle
