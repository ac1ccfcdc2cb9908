// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>

#include "aperture/dense/batch.hpp"
#include "libcore/cpu/simd.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

/// Elements and matrices of `width` problems at once, one per SIMD lane.
///
/// An element of a matrix is a pack of real parts and, for complex T, a pack of imaginary parts
/// right after it, aligned to the pack. No operation crosses lanes: a NaN stays in its problem, and
/// the bits of a problem do not depend on its neighbours or on the lane it is in.
namespace aperture::dense::lanes {

template <Scalar T>
inline constexpr bool is_complex = !std::same_as<T, Real<T>>;
/// Problems per pack.
template <Scalar T>
inline constexpr int width = core::lanes<Real<T>>;
/// Reals per element.
template <Scalar T>
inline constexpr std::ptrdiff_t element_reals = width<T>*(is_complex<T> ? 2 : 1);

/// Per lane 0, or all bits where a condition holds; so wide integers.
template <class R>
using Mask = decltype(core::Pack<R>{} < core::Pack<R>{});

/// Whether a mask has a bit.
template <class M>
[[gnu::always_inline]] inline bool any(M mask) {
#if defined(__AVX512F__)
    const auto bits = reinterpret_cast<__m512i>(mask);
    return _mm512_test_epi64_mask(bits, bits) != 0;
#elif defined(__AVX__)
    const auto bits = reinterpret_cast<__m256i>(mask);
    return _mm256_testz_si256(bits, bits) == 0;
#else
    decltype(mask[0] + mask[0]) bits = 0;
    for (std::size_t l = 0; l < sizeof(mask) / sizeof(mask[0]); ++l) bits |= mask[l];
    return bits != 0;
#endif
}

/// One element in all lanes; `im` exists only for complex T.
template <Scalar T, bool Complex = is_complex<T>>
struct Element {
    core::Pack<Real<T>> re;
};
template <Scalar T>
struct Element<T, true> {
    core::Pack<Real<T>> re, im;
};

/// A real element.
template <Scalar T>
[[gnu::always_inline]] inline Element<T> real_element(core::Pack<Real<T>> re) {
    Element<T> value{};
    value.re = re;
    return value;
}
/// One in all lanes.
template <Scalar T>
[[gnu::always_inline]] inline Element<T> unit() {
    return real_element<T>(core::broadcast(Real<T>{1}));
}

/// A strided view of elements (row, column) in lanes. Strides count elements and may be negative,
/// so that transposed and reversed matrices are views too. Like a pointer, a const view allows
/// writes.
template <Scalar T>
struct Matrix {
    Real<T>* data = nullptr;
    std::ptrdiff_t row_stride = 0;
    std::ptrdiff_t column_stride = 1;

    Real<T>* at(std::ptrdiff_t row, std::ptrdiff_t column) const {
        return data + (row * row_stride + column * column_stride) * element_reals<T>;
    }
    Element<T> load(std::ptrdiff_t row, std::ptrdiff_t column) const {
        const auto* from = reinterpret_cast<const core::Pack<Real<T>>*>(at(row, column));
        if constexpr (is_complex<T>) {
            return {from[0], from[1]};
        } else {
            return {from[0]};
        }
    }
    void store(std::ptrdiff_t row, std::ptrdiff_t column, const Element<T>& value) const {
        auto* to = reinterpret_cast<core::Pack<Real<T>>*>(at(row, column));
        to[0] = value.re;
        if constexpr (is_complex<T>) to[1] = value.im;
    }
    Matrix from(std::ptrdiff_t row, std::ptrdiff_t column) const {
        return {at(row, column), row_stride, column_stride};
    }
    Matrix transposed() const { return {data, column_stride, row_stride}; }
    /// The matrix of n x n whose first element is the last of this one.
    Matrix reversed(std::ptrdiff_t n) const {
        return {at(n - 1, n - 1), -row_stride, -column_stride};
    }
};

/// A matrix that is identical in all lanes.
template <Scalar T>
struct SharedMatrix {
    const T* data = nullptr;
    std::ptrdiff_t row_stride = 0;
    std::ptrdiff_t column_stride = 1;

    Element<T> load(std::ptrdiff_t row, std::ptrdiff_t column) const {
        const T value = data[row * row_stride + column * column_stride];
        if constexpr (is_complex<T>) {
            return {core::broadcast(value.real()), core::broadcast(value.imag())};
        } else {
            return {core::broadcast(value)};
        }
    }
    SharedMatrix from(std::ptrdiff_t row, std::ptrdiff_t column) const {
        return {data + row * row_stride + column * column_stride, row_stride, column_stride};
    }
};

template <Scalar T>
void copy(std::ptrdiff_t rows, std::ptrdiff_t columns, const Matrix<T>& from, const Matrix<T>& to) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
        for (std::ptrdiff_t j = 0; j < columns; ++j) to.store(i, j, from.load(i, j));
    }
}

/// An odd row stride, in elements, for large matrices: their columns then spread over cache sets.
/// Small matrices stay dense.
constexpr std::ptrdiff_t padded(std::ptrdiff_t n) { return n < 16 ? n : n | 1; }

}  // namespace aperture::dense::lanes
