// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <numbers>
#include <vector>

#include "libcorr/gpu/fft_correlation.cuh"

namespace aperture::corr::gpu {

/// By their definition, in double precision.
template <>
class Transforms<core::Simt> {
  public:
    Transforms(core::Simt&, const TransformSizes& sizes) : sizes_(sizes) {}

    static int good_length(int n) { return n + n % 2; }

    void rows(const float* from, Complex<float>* to) const {
        for (index_t i = 0; i < index_t{sizes_.image_rows} * sizes_.planes; ++i) {
            transform(
                sizes_.columns, -1, sizes_.frequencies(),
                [&](int x) { return Number(from[i * sizes_.columns + x]); },
                [&](int k, Number sum) { to[i * sizes_.frequencies() + k] = single(sum); });
        }
    }
    void columns(const Complex<float>* from, Complex<float>* to) const {
        transform_columns(from, to, index_t{sizes_.planes} * sizes_.frequencies(), -1);
    }
    void columns_back(Complex<float>* both) const {
        transform_columns(both, both, index_t{sizes_.surfaces} * sizes_.frequencies(), 1);
    }
    void rows_back(const Complex<float>* from, float* to) const {
        for (index_t i = 0; i < index_t{sizes_.lag_rows} * sizes_.surfaces; ++i) {
            const Complex<float>* const row = from + i * sizes_.frequencies();
            transform(
                sizes_.columns, 1, sizes_.columns,
                [&](int k) {
                    const bool upper = k < sizes_.frequencies();
                    const Number value = number(row[upper ? k : sizes_.columns - k]);
                    return upper ? value : std::conj(value);
                },
                [&](int x, Number sum) {
                    to[i * sizes_.columns + x] = static_cast<float>(sum.real());
                });
        }
    }

  private:
    using Number = std::complex<double>;
    static Number number(Complex<float> x) {
        return {static_cast<double>(x.re), static_cast<double>(x.im)};
    }
    static Complex<float> single(Number x) {
        return {static_cast<float>(x.real()), static_cast<float>(x.imag())};
    }
    template <class Load, class Store>
    static void transform(int length, int sign, int outputs, const Load& load, const Store& store) {
        std::vector<Number> values;
        std::vector<Number> roots;
        for (int i = 0; i < length; ++i) {
            values.push_back(load(i));
            roots.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * i / length));
        }
        for (int k = 0; k < outputs; ++k) {
            Number sum{};
            for (int i = 0; i < length; ++i) {
                sum += values[static_cast<std::size_t>(i)] *
                       roots[static_cast<std::size_t>(index_t{i} * k % length)];
            }
            store(k, sum);
        }
    }
    void transform_columns(const Complex<float>* from, Complex<float>* to, index_t columns,
                           int sign) const {
        for (index_t x = 0; x < columns; ++x) {
            transform(
                sizes_.rows, sign, sizes_.rows,
                [&](int y) { return number(from[y * columns + x]); },
                [&](int k, Number sum) { to[k * columns + x] = single(sum); });
        }
    }

    TransformSizes sizes_;
};

}  // namespace aperture::corr::gpu
