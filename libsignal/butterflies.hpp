// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Short Fourier transforms in registers, for the CPU's packs and the GPU's threads. A Number has
// `re` and `im`, sums, differences, multiples by a float and multiply_add(sum, float, number).

#include "aperture/core/portable.hpp"

#if defined(__CUDA_ARCH__)
#define APERTURE_UNROLL_ALL _Pragma("unroll")
#elif defined(__CUDACC__)
#define APERTURE_UNROLL_ALL
#else
#define APERTURE_UNROLL_ALL _Pragma("GCC unroll 16")
#endif

namespace aperture::signal {

/// cos(2 pi i / R) and sin(2 pi i / R), 0 < i < R.
template <int R>
APERTURE_HD constexpr float cosine(int i) {
    const int k = i > R / 2 ? R - i : i;
    if constexpr (R == 3) return -0.5F;
    if constexpr (R == 5) return k == 1 ? 0.30901699437494742F : -0.80901699437494742F;
    return k == 1 ? 0.62348980185873353F : k == 2 ? -0.22252093395631440F : -0.90096886790241913F;
}
template <int R>
APERTURE_HD constexpr float sine(int i) {
    const int k = i > R / 2 ? R - i : i;
    const float sign = i > R / 2 ? -1.0F : 1.0F;
    if constexpr (R == 3) return sign * 0.86602540378443865F;
    if constexpr (R == 5) return sign * (k == 1 ? 0.95105651629515357F : 0.58778525229247313F);
    return sign * (k == 1   ? 0.78183148246802981F
                   : k == 2 ? 0.97492791218182361F
                            : 0.43388373911755812F);
}

/// The i < b with a i mod b = 1.
APERTURE_HD constexpr int inverse_modulo(int a, int b) {
    int i = 1;
    while (a * i % b != 1) ++i;
    return i;
}

/// -j a
template <class Number>
APERTURE_HD Number times_minus_j(const Number& a) {
    return {a.im, -a.re};
}

template <int R, class Number>
APERTURE_HD void butterfly(Number (&v)[R]);

/// Each output needs real multiples of the sums and differences of v[k] and v[R-k] only.
template <int R, class Number>
APERTURE_HD void odd_butterfly(Number (&v)[R]) {
    constexpr int half = R / 2;
    Number sums[half];
    Number differences[half];
    const Number first = v[0];
    APERTURE_UNROLL_ALL
    for (int k = 1; k <= half; ++k) {
        sums[k - 1] = v[k] + v[R - k];
        differences[k - 1] = v[k] - v[R - k];
        v[0] = v[0] + sums[k - 1];
    }
    APERTURE_UNROLL_ALL
    for (int m = 1; m <= half; ++m) {
        Number even = first;
        APERTURE_UNROLL_ALL
        for (int k = 1; k <= half; ++k) {
            even = multiply_add(even, cosine<R>(k * m % R), sums[k - 1]);
        }
        Number odd = sine<R>(half * m % R) * differences[half - 1];
        APERTURE_UNROLL_ALL
        for (int k = half - 1; k >= 1; --k) {
            odd = multiply_add(odd, sine<R>(k * m % R), differences[k - 1]);
        }
        odd = times_minus_j(odd);
        v[m] = even + odd;
        v[R - m] = even - odd;
    }
}

/// A transform of A B samples, A and B coprime, as A x B transforms without twiddles.
/// Source: Good 1958.
template <int A, int B, class Number>
APERTURE_HD void coprime_butterfly(Number (&v)[A * B]) {
    Number rows[B][A];
    APERTURE_UNROLL_ALL
    for (int i = 0; i < B; ++i) {
        APERTURE_UNROLL_ALL
        for (int k = 0; k < A; ++k) rows[i][k] = v[(B * k + A * i) % (A * B)];
        butterfly(rows[i]);
    }
    constexpr int step_a = B * inverse_modulo(B, A);
    constexpr int step_b = A * inverse_modulo(A, B);
    APERTURE_UNROLL_ALL
    for (int k = 0; k < A; ++k) {
        Number column[B];
        APERTURE_UNROLL_ALL
        for (int i = 0; i < B; ++i) column[i] = rows[i][k];
        butterfly(column);
        APERTURE_UNROLL_ALL
        for (int i = 0; i < B; ++i) v[(step_a * k + step_b * i) % (A * B)] = column[i];
    }
}

/// v[k] = sum_p v[p] exp(-j 2 pi k p / R).
template <int R, class Number>
APERTURE_HD void butterfly(Number (&v)[R]) {
    if constexpr (R == 2) {
        const Number first = v[0];
        v[0] = first + v[1];
        v[1] = first - v[1];
    } else if constexpr (R == 4) {
        const Number sum02 = v[0] + v[2];
        const Number difference02 = v[0] - v[2];
        const Number sum13 = v[1] + v[3];
        const Number difference13 = times_minus_j(v[1] - v[3]);
        v[0] = sum02 + sum13;
        v[1] = difference02 + difference13;
        v[2] = sum02 - sum13;
        v[3] = difference02 - difference13;
    } else if constexpr (R == 8) {
        constexpr float root = 0.70710678118654752F;
        Number even[4] = {v[0], v[2], v[4], v[6]};
        Number odd[4] = {v[1], v[3], v[5], v[7]};
        butterfly(even);
        butterfly(odd);
        odd[1] = root * (odd[1] + times_minus_j(odd[1]));
        odd[2] = times_minus_j(odd[2]);
        odd[3] = root * (times_minus_j(odd[3]) - odd[3]);
        APERTURE_UNROLL_ALL
        for (int k = 0; k < 4; ++k) {
            v[k] = even[k] + odd[k];
            v[k + 4] = even[k] - odd[k];
        }
    } else if constexpr (R == 6) {
        coprime_butterfly<2, 3>(v);
    } else if constexpr (R == 10) {
        coprime_butterfly<2, 5>(v);
    } else if constexpr (R == 15) {
        coprime_butterfly<3, 5>(v);
    } else if constexpr (R > 1) {
        odd_butterfly<R>(v);
    }
}

#undef APERTURE_UNROLL_ALL

}  // namespace aperture::signal
