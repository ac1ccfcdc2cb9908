// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <complex>
#include <concepts>

#include "aperture/core/executor.hpp"

namespace aperture::core {

template <std::floating_point T>
bool is_finite(T value) {
    return std::isfinite(value);
}
template <class T>
bool is_finite(std::complex<T> value) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
}

/// The number of elements that are NaN or infinite, complex ones in either part.
template <class T, int Rank>
index_t count_non_finite(const Cpu& cpu, View<const T, Rank, Host> values) {
    const index_t columns = values.extent[Rank - 1];
    const index_t rows = columns > 0 ? values.size() / columns : 0;
    index_t count = 0;
#pragma omp parallel for num_threads(cpu.threads()) reduction(+ : count)
    for (index_t row = 0; row < rows; ++row) {
        const T* element = values.data;
        index_t rest = row;
        for (int d = Rank - 2; d >= 0; --d) {
            element += rest % values.extent[d] * values.stride[d];
            rest /= values.extent[d];
        }
        for (index_t i = 0; i < columns; ++i) {
            count += !is_finite(element[i * values.stride[Rank - 1]]);
        }
    }
    return count;
}

}  // namespace aperture::core
