// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "aperture/core/portable.hpp"
#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// A stored number: kind, size and byte order.
struct Number {
    enum class Kind { floating, signed_integer, unsigned_integer };
    Kind kind;
    std::size_t bytes;
    bool big_endian;
    /// "float32", "uint8", "int16 big-endian".
    std::string text() const;
};
/// Empty unless the layout is IEEE or two's complement with full precision.
std::optional<Number> number_of(hid_t type);

/// Layout of a stored sample: a number, or two numbers of one type at two byte offsets.
struct SampleForm {
    Number number;
    std::size_t sample_bytes;
    std::size_t real_at = 0;
    std::size_t imag_at = 0;  ///< 0 for a real sample
    std::string text{};       ///< of a complex one: "complex64 {r,i}"; of a real one empty

    /// Whether stored bytes already are floats or complex floats.
    bool native() const;
    /// Converts `count` consecutive samples at `raw` (any alignment) to `out`. Integers are not
    /// scaled; float64 rounds to nearest.
    void convert(const std::byte* raw, core::index_t count, float* out) const;
    void convert(const std::byte* raw, core::index_t count, std::complex<float>* out) const;
};

/// Names of the real and the imaginary part of complex numbers, exactly so.
struct PartNames {
    std::string_view real;
    std::string_view imag;
};
inline constexpr std::array<PartNames, 6> part_names = {
    {{"r", "i"}, {"real", "imag"}, {"re", "im"}, {"Re", "Im"}, {"I", "Q"}, {"i", "q"}}};

/// The form of a two-member compound with such names, members in either order.
std::optional<SampleForm> compound_form(hid_t type);
/// The form of a real array whose last extent is 2.
std::optional<SampleForm> trailing_form(hid_t type);

}  // namespace aperture::media
