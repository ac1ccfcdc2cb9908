// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace aperture::dense {

/// Numbers of 16 problems (of double: 8), one a SIMD lane, with the arithmetic of a single number:
/// what a functor of for_each_element computes with on a CPU. Comparisons give a Mask, and `select`
/// takes the place of `?:`. 64 bytes whatever the processor.
template <class R>
struct alignas(64) Lanes {
    static constexpr int count = 64 / static_cast<int>(sizeof(R));
    static constexpr int part_bytes = __BIGGEST_ALIGNMENT__ < 64 ? __BIGGEST_ALIGNMENT__ : 64;
    static constexpr int parts = 64 / part_bytes;
    static constexpr int part_lanes = count / parts;
    struct PartOf {
        using type __attribute__((vector_size(part_bytes))) = R;
    };
    using Part = typename PartOf::type;
    struct Mask {
        decltype(Part{} < Part{}) part[parts];
    };

    Part part[parts];

    Lanes() = default;
    /// One number in all lanes.
    [[gnu::always_inline]] inline Lanes(R number) {
        for (Part& p : part) p = number - Part{};
    }

#define APERTURE_LANES_OPERATOR(OP)                                            \
    [[gnu::always_inline]] friend inline Lanes operator OP(Lanes a, Lanes b) { \
        for (int i = 0; i < parts; ++i) a.part[i] = a.part[i] OP b.part[i];    \
        return a;                                                              \
    }                                                                          \
    [[gnu::always_inline]] inline Lanes& operator OP##=(Lanes b) { return *this = *this OP b; }
    APERTURE_LANES_OPERATOR(+)
    APERTURE_LANES_OPERATOR(-)
    APERTURE_LANES_OPERATOR(*)
    APERTURE_LANES_OPERATOR(/)
#undef APERTURE_LANES_OPERATOR
    [[gnu::always_inline]] friend inline Lanes operator-(Lanes a) {
        for (Part& p : a.part) p = -p;
        return a;
    }

#define APERTURE_LANES_COMPARISON(OP)                                          \
    [[gnu::always_inline]] friend inline Mask operator OP(Lanes a, Lanes b) {  \
        Mask mask;                                                             \
        for (int i = 0; i < parts; ++i) mask.part[i] = a.part[i] OP b.part[i]; \
        return mask;                                                           \
    }
    APERTURE_LANES_COMPARISON(<)
    APERTURE_LANES_COMPARISON(<=)
    APERTURE_LANES_COMPARISON(>)
    APERTURE_LANES_COMPARISON(>=)
    APERTURE_LANES_COMPARISON(==)
    APERTURE_LANES_COMPARISON(!=)
#undef APERTURE_LANES_COMPARISON

    /// In each lane the first number where the mask holds, else the second.
    [[gnu::always_inline]] friend inline Lanes select(Mask mask, Lanes yes, Lanes no) {
        for (int i = 0; i < parts; ++i) yes.part[i] = mask.part[i] ? yes.part[i] : no.part[i];
        return yes;
    }
    [[gnu::always_inline]] friend inline Lanes abs(Lanes a) { return select(a < R(0), -a, a); }
    [[gnu::always_inline]] friend inline Lanes sqrt(Lanes a) {
        for (Part& p : a.part) {
            for (int l = 0; l < part_lanes; ++l) p[l] = std::sqrt(p[l]);
        }
        return a;
    }
};

}  // namespace aperture::dense
