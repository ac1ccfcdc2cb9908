// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcompose/operations/block_bodies.cuh"
#include "libcore/cpu/transpose.hpp"

/// A CPU computes a problem in each lane of its vector registers: bodies of block_bodies.cuh take
/// these numbers as they take others, and each lane has the bits of a problem alone.
namespace aperture::compose::kernels {

/// a b + c, rounded once. Compilers miss the instruction in some loops over lanes.
template <class Real>
inline core::Pack<Real> multiply_add_packs(core::Pack<Real> a, core::Pack<Real> b,
                                           core::Pack<Real> c) {
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vfmaddps512_mask)
    constexpr int current_rounding = 4;
    if constexpr (sizeof(Real) == sizeof(float)) {
        return __builtin_ia32_vfmaddps512_mask(a, b, c, 0xffff, current_rounding);
    } else {
        return __builtin_ia32_vfmaddpd512_mask(a, b, c, 0xff, current_rounding);
    }
#elif defined(__FMA__) && __has_builtin(__builtin_ia32_vfmaddps256)
    if constexpr (sizeof(Real) == sizeof(float)) {
        return __builtin_ia32_vfmaddps256(a, b, c);
    } else {
        return __builtin_ia32_vfmaddpd256(a, b, c);
    }
#else
    for (int i = 0; i < core::lanes<Real>; ++i) c[i] = ::fma(a[i], b[i], c[i]);
    return c;
#endif
}

/// One number of each of as many problems as a register holds.
template <class Real>
struct Lanes {
    static constexpr int count = core::lanes<Real>;
    using Condition = decltype(core::Pack<Real>() < core::Pack<Real>());

    core::Pack<Real> values;

    Lanes() = default;
    Lanes(core::Pack<Real> of_lanes) : values(of_lanes) {}
    Lanes(Real number) : values(core::broadcast(number)) {}

    Lanes& operator+=(Lanes b) { return *this = values + b.values; }
    Lanes& operator-=(Lanes b) { return *this = values - b.values; }
    Lanes& operator*=(Lanes b) { return *this = values * b.values; }
    friend Lanes operator+(Lanes a, Lanes b) { return a.values + b.values; }
    friend Lanes operator-(Lanes a, Lanes b) { return a.values - b.values; }
    friend Lanes operator*(Lanes a, Lanes b) { return a.values * b.values; }
    friend Lanes operator/(Lanes a, Lanes b) { return a.values / b.values; }
    friend Lanes operator-(Lanes a) { return -a.values; }
    friend Condition operator<(Lanes a, Lanes b) { return a.values < b.values; }

    friend Lanes conj(Lanes a) { return a; }
    friend Lanes real_part(Lanes a) { return a; }
    friend Lanes norm(Lanes a) { return a * a; }
    friend Lanes add_norm(Lanes sum, Lanes a) { return fma(a, a, sum); }
    friend Lanes multiply_add(Lanes sum, Lanes a, Lanes b) { return fma(a, b, sum); }
    friend Lanes multiply_add_conj(Lanes sum, Lanes a, Lanes b) { return fma(a, b, sum); }
    friend Lanes fused_multiply_add(Lanes a, Lanes b, Lanes c) { return fma(a, b, c); }
    friend Lanes fma(Lanes a, Lanes b, Lanes c) {
        return multiply_add_packs<Real>(a.values, b.values, c.values);
    }
    friend Lanes sqrt(Lanes a) {
        for (int i = 0; i < count; ++i) a.values[i] = ::sqrt(a.values[i]);
        return a;
    }
    friend Lanes fabs(Lanes a) {
        for (int i = 0; i < count; ++i) a.values[i] = ::fabs(a.values[i]);
        return a;
    }
    friend void hold(Lanes& a) { core::hold(a.values); }
    friend void hold(core::Complex<Lanes>& a) {
        core::hold(a.re.values);
        core::hold(a.im.values);
    }
    friend Lanes weight(Lanes a) { return fabs(a); }
    friend Lanes choose(Condition condition, Lanes a, Lanes b) {
        return condition ? a.values : b.values;
    }
    friend core::Complex<Lanes> choose(Condition condition, core::Complex<Lanes> a,
                                       core::Complex<Lanes> b) {
        return {choose(condition, a.re, b.re), choose(condition, a.im, b.im)};
    }
};

/// A row of each lane.
template <class Real>
struct LaneRows {
    typename Lanes<Real>::Condition rows;
    explicit LaneRows(int row) : rows(row - typename Lanes<Real>::Condition{}) {}

    friend LaneRows choose_index(typename Lanes<Real>::Condition condition, int a, LaneRows b) {
        b.rows = condition ? LaneRows(a).rows : b.rows;
        return b;
    }
    /// Each lane takes its row from those below.
    template <class Group, class View>
    friend void exchange_rows(const Group&, const View& matrix, int row, const LaneRows& others,
                              int column) {
        const auto here = matrix(row, column);
        auto chosen = here;
        for (int other = row + 1; other < matrix.rows; ++other) {
            const auto is_other = others.rows == LaneRows(other).rows;
            const auto there = matrix(other, column);
            chosen = choose(is_other, there, chosen);
            matrix(other, column) = choose(is_other, here, there);
        }
        matrix(row, column) = chosen;
    }
};

template <class T>
struct LanesOfType {
    using Type = Lanes<T>;
};
template <class Real>
struct LanesOfType<core::Complex<Real>> {
    using Type = core::Complex<Lanes<Real>>;
};
template <class T>
using LanesOf = typename LanesOfType<T>::Type;

}  // namespace aperture::compose::kernels

namespace aperture::compose::bodies {

template <class Real>
struct IndexOfType<kernels::Lanes<Real>> {
    using Type = kernels::LaneRows<Real>;
};
template <class Real>
struct Widened<kernels::Lanes<Real>, Real> {
    static kernels::Lanes<Real> of(Real number) { return number; }
};
template <class Real>
struct Widened<core::Complex<kernels::Lanes<Real>>, core::Complex<Real>> {
    static core::Complex<kernels::Lanes<Real>> of(core::Complex<Real> number) {
        return {number.re, number.im};
    }
};

}  // namespace aperture::compose::bodies
