// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/tall_matrices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace aperture::dense::oracle {
namespace {

template <class T>
constexpr double unit_roundoff = std::numeric_limits<T>::epsilon() / 2.0;

/// The type in which errors of results of type T are computed.
template <class T>
using Finer = std::conditional_t<std::same_as<T, float>, double, long double>;

/// `values` sums over the rows of a matrix; `add(begin, end, sums)` adds up to eight rows to them.
template <class F, class Add>
std::vector<F> sums_over_rows(index_t rows, index_t values, const Add& add) {
    constexpr index_t of_task = 4096;
    const index_t tasks = (rows + of_task - 1) / of_task;
    std::vector<F> sums(static_cast<std::size_t>(tasks * values), F(0));
#pragma omp parallel for
    for (index_t task = 0; task < tasks; ++task) {
        const index_t end = std::min((task + 1) * of_task, rows);
        for (index_t i = task * of_task; i < end; i += 8) {
            add(i, std::min(i + 8, end), sums.data() + task * values);
        }
    }
    for (index_t task = 1; task < tasks; ++task) {
        for (index_t k = 0; k < values; ++k) {
            sums[static_cast<std::size_t>(k)] += sums[static_cast<std::size_t>(task * values + k)];
        }
    }
    return sums;
}

}  // namespace

std::string name_of(const TallCase& c) {
    static const char* const names[] = {"random",       "graded", "hilbert", "dependent",
                                        "zero_columns", "zero",   "huge",    "tiny"};
    return std::to_string(c.rows) + "x" + std::to_string(c.columns) + "_" +
           names[static_cast<int>(c.content)];
}

template <class T>
core::Array<T, 2> matrix_of(const TallCase& c) {
    const auto [rows, columns, content] = c;
    core::Array<T, 2> a({rows, columns});
    std::mt19937 generator(static_cast<unsigned>(rows * 31 + columns));
    std::uniform_real_distribution<T> uniform(-1, 1);
    for (T& value : a) value = uniform(generator);
    const T least = static_cast<T>(unit_roundoff<T>);
    const T range = std::numeric_limits<T>::max();
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j) {
            T& value = a(i, j);
            const auto at = static_cast<T>(j) / static_cast<T>(columns);
            switch (content) {
                case Content::random:
                    break;
                case Content::graded:
                    value *= std::pow(least, at) *
                             std::pow(least, static_cast<T>(i) / static_cast<T>(rows));
                    break;
                case Content::hilbert:
                    value = T(1) / static_cast<T>(i + j + 1);
                    break;
                case Content::dependent:
                    value = a(i, j / 2) * static_cast<T>(1 + j % 2);
                    break;
                case Content::zero_columns:
                    value *= static_cast<T>(j % 3 == 1);
                    break;
                case Content::zero:
                    value = 0;
                    break;
                case Content::huge:
                    value *= range / static_cast<T>(4 * rows);
                    break;
                case Content::tiny:
                    value *= std::numeric_limits<T>::min() * 64;
                    break;
            }
        }
    }
    return a;
}

template <class T>
double residual_ratio(HostMatrix<T> a, HostMatrix<T> q, HostMatrix<T> r) {
    using F = Finer<T>;
    const index_t n = a.extent[1];
    // Scaled so that squares neither overflow nor underflow.
    F largest = 0;
    for (index_t i = 0; i < a.extent[0]; ++i) {
        for (index_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(F(a(i, j))));
    }
    const F unit = largest > 0 ? largest : 1;
    std::vector<F> factor(static_cast<std::size_t>(n * n));
    for (index_t k = 0; k < n; ++k) {
        for (index_t j = 0; j < n; ++j) factor[std::size_t(k * n + j)] = F(r(k, j)) / unit;
    }
    const auto add = [&](index_t begin, index_t end, F* sum) {
        std::vector<F> row(static_cast<std::size_t>(n));
        for (index_t i = begin; i < end; ++i) {
            std::fill(row.begin(), row.end(), F(0));
            for (index_t k = 0; k < n; ++k) {
                const F element = q(i, k);
                for (index_t j = k; j < n; ++j) {
                    row[std::size_t(j)] += element * factor[std::size_t(k * n + j)];
                }
            }
            for (index_t j = 0; j < n; ++j) {
                const F of_a = F(a(i, j)) / unit;
                sum[0] += (of_a - row[std::size_t(j)]) * (of_a - row[std::size_t(j)]);
                sum[1] += of_a * of_a;
            }
        }
    };
    const auto sums = sums_over_rows<F>(a.extent[0], 2, add);
    const F of_a = sums[1] > 0 ? std::sqrt(sums[1]) : 1;
    return static_cast<double>(std::sqrt(sums[0]) / (of_a * unit_roundoff<T>));
}

template <class T>
double orthogonality_ratio(HostMatrix<T> q) {
    using F = Finer<T>;
    const index_t n = q.extent[1];
    const auto add = [&](index_t begin, index_t end, F* sum) {
        // Several rows at a time reduce the passes over the sums. Missing rows are zero.
        std::vector<std::array<F, 8>> columns(static_cast<std::size_t>(n));
        for (index_t j = 0; j < n; ++j) {
            for (index_t i = begin; i < end; ++i)
                columns[std::size_t(j)][std::size_t(i - begin)] = q(i, j);
        }
        for (index_t k = 0; k < n; ++k) {
            for (index_t j = k; j < n; ++j) {
                F product = 0;
                for (std::size_t i = 0; i < 8; ++i) {
                    product += columns[std::size_t(k)][i] * columns[std::size_t(j)][i];
                }
                sum[k * n + j] += product;
            }
        }
    };
    const auto products = sums_over_rows<F>(q.extent[0], n * n, add);
    F square = 0;
    for (index_t k = 0; k < n; ++k) {
        for (index_t j = k; j < n; ++j) {
            const F error = products[std::size_t(k * n + j)] - (j == k ? 1 : 0);
            square += (j == k ? 1 : 2) * error * error;
        }
    }
    return static_cast<double>(std::sqrt(square) /
                               (unit_roundoff<T> * std::sqrt(static_cast<F>(n))));
}

template core::Array<float, 2> matrix_of(const TallCase&);
template core::Array<double, 2> matrix_of(const TallCase&);
template double residual_ratio(HostMatrix<float>, HostMatrix<float>, HostMatrix<float>);
template double residual_ratio(HostMatrix<double>, HostMatrix<double>, HostMatrix<double>);
template double orthogonality_ratio(HostMatrix<float>);
template double orthogonality_ratio(HostMatrix<double>);

}  // namespace aperture::dense::oracle
