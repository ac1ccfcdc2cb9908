// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/flow/oracle.hpp"

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace aperture::flow::oracle {
namespace {

/// The matrix by its definition in linear_system.hpp, in double. Unknown u of pixel p has index 2
/// p, v has index 2 p + 1.
Eigen::SparseMatrix<double> matrix(const OwnedSystem& s) {
    const index_t rows = s.shape().rows;
    const index_t columns = s.shape().columns;
    std::vector<Eigen::Triplet<double>> entries;
    const auto number = [&](index_t y, index_t x) { return y * columns + x; };
    const auto tie = [&](index_t y, index_t x, index_t dy, index_t dx, double weight) {
        const double w = weight * static_cast<double>(s.smoothness);
        const index_t p = number(y, x);
        const bool inside = y + dy >= 0 && y + dy < rows && x + dx >= 0 && x + dx < columns;
        const index_t q = number(std::clamp<index_t>(y + dy, 0, rows - 1),
                                 std::clamp<index_t>(x + dx, 0, columns - 1));
        for (index_t unknown : {0, 1}) {
            entries.emplace_back(2 * p + unknown, 2 * p + unknown, w);
            if (inside || s.boundary == Boundary::replicate) {
                entries.emplace_back(2 * p + unknown, 2 * q + unknown, -w);
            }
        }
    };
    for (index_t y = 0; y < rows; ++y) {
        for (index_t x = 0; x < columns; ++x) {
            const index_t p = number(y, x);
            entries.emplace_back(2 * p, 2 * p, s.tensor(0, y, x));
            entries.emplace_back(2 * p, 2 * p + 1, s.tensor(1, y, x));
            entries.emplace_back(2 * p + 1, 2 * p, s.tensor(1, y, x));
            entries.emplace_back(2 * p + 1, 2 * p + 1, s.tensor(2, y, x));
            if (s.coupling.size() > 0) {
                if (x + 1 < columns) tie(y, x, 0, 1, s.coupling(0, y, x));
                if (x > 0) tie(y, x, 0, -1, s.coupling(0, y, x - 1));
                if (y + 1 < rows) tie(y, x, 1, 0, s.coupling(1, y, x));
                if (y > 0) tie(y, x, -1, 0, s.coupling(1, y - 1, x));
                continue;
            }
            for (index_t dy : {-1, 0, 1}) {
                for (index_t dx : {-1, 0, 1}) {
                    if (dy == 0 && dx == 0) continue;
                    const bool diagonal = dy != 0 && dx != 0;
                    if (s.stencil == Stencil::nine) {
                        tie(y, x, dy, dx, diagonal ? 0.25 : 0.5);
                    } else if (!diagonal) {
                        tie(y, x, dy, dx, 1.0);
                    }
                }
            }
        }
    }
    const index_t unknowns = 2 * rows * columns;
    Eigen::SparseMatrix<double> a(unknowns, unknowns);
    a.setFromTriplets(entries.begin(), entries.end());
    return a;
}

Eigen::VectorXd right_hand_side(const OwnedSystem& s) {
    const auto [rows, columns] = s.shape();
    Eigen::VectorXd b(2 * rows * columns);
    for (index_t y = 0; y < rows; ++y) {
        for (index_t x = 0; x < columns; ++x) {
            b(2 * (y * columns + x)) = s.right(0, y, x);
            b(2 * (y * columns + x) + 1) = s.right(1, y, x);
        }
    }
    return b;
}

}  // namespace

Eigen::VectorXd solve(const OwnedSystem& s) {
    const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factor(matrix(s));
    return factor.solve(right_hand_side(s));
}

Eigen::VectorXd solve_minimum_norm(const OwnedSystem& s) {
    const Eigen::MatrixXd a = matrix(s);
    Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factor;
    factor.setThreshold(1e-6);
    factor.compute(a);
    return factor.solve(right_hand_side(s));
}

double relative_error(const core::Array<float, 3>& flow, const Eigen::VectorXd& solution) {
    const index_t columns = flow.extent()[2];
    double error = 0;
    for (index_t y = 0; y < flow.extent()[1]; ++y) {
        for (index_t x = 0; x < columns; ++x) {
            for (index_t unknown : {0, 1}) {
                const double difference = static_cast<double>(flow(unknown, y, x)) -
                                          solution(2 * (y * columns + x) + unknown);
                if (!(std::abs(difference) <= error)) error = std::abs(difference);
                if (std::isnan(difference)) return INFINITY;
            }
        }
    }
    double largest = 0;
    for (const double value : solution) largest = std::max(largest, std::abs(value));
    return largest > 0 ? error / largest : error;
}

OwnedSystem random_system(Shape shape, unsigned seed, float smoothness) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    OwnedSystem s;
    s.smoothness = smoothness;
    s.tensor = core::Array<float, 3>({3, shape.rows, shape.columns});
    s.right = core::Array<float, 3>({2, shape.rows, shape.columns});
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const bool flat = 2 * y < shape.rows && 2 * x < shape.columns && shape.columns > 1;
            const float scale = flat ? 0.0F : 10.0F;
            const float gx = scale * normal(generator);
            const float gy = scale * normal(generator);
            const float gt = scale * normal(generator);
            s.tensor(0, y, x) = gx * gx;
            s.tensor(1, y, x) = gx * gy;
            s.tensor(2, y, x) = gy * gy;
            s.right(0, y, x) = -gx * gt;
            s.right(1, y, x) = -gy * gt;
        }
    }
    return s;
}

}  // namespace aperture::flow::oracle
