// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"

#if !defined(__CUDACC_RTC__)
#include <cstddef>
#include <utility>
#endif

namespace aperture::core {

/// The extents, strides or position of `Rank` dimensions: an array that kernels can index, too, and
/// that structured bindings decompose.
template <int Rank>
struct Extents {
    using value_type = index_t;
    using iterator = index_t*;
    using const_iterator = const index_t*;

    index_t values[Rank];

    APERTURE_HD constexpr index_t& operator[](int d) { return values[d]; }
    APERTURE_HD constexpr const index_t& operator[](int d) const { return values[d]; }
    APERTURE_HD constexpr index_t* begin() { return values; }
    APERTURE_HD constexpr index_t* end() { return values + Rank; }
    APERTURE_HD constexpr const index_t* begin() const { return values; }
    APERTURE_HD constexpr const index_t* end() const { return values + Rank; }

    APERTURE_HD friend constexpr bool operator==(const Extents& a, const Extents& b) {
        for (int d = 0; d < Rank; ++d) {
            if (a.values[d] != b.values[d]) return false;
        }
        return true;
    }
};

#if !defined(__CUDACC_RTC__)
template <std::size_t d, int Rank>
constexpr index_t& get(Extents<Rank>& extents) {
    return extents.values[d];
}
template <std::size_t d, int Rank>
constexpr const index_t& get(const Extents<Rank>& extents) {
    return extents.values[d];
}
#endif

}  // namespace aperture::core

#if !defined(__CUDACC_RTC__)
template <int Rank>
struct std::tuple_size<aperture::core::Extents<Rank>>
    : std::integral_constant<std::size_t, static_cast<std::size_t>(Rank)> {};
template <std::size_t d, int Rank>
struct std::tuple_element<d, aperture::core::Extents<Rank>> {
    using type = aperture::core::index_t;
};
#endif
