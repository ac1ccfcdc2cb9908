// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/sample_form.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5.hpp"

namespace aperture::media {
namespace {

/// IEEE 754 binary16 bits.
struct Half {
    std::uint16_t bits;
};

float value_of(Half half) {
    // A multiplication moves the exponent from bias 15 to 127 and also normalises subnormals.
    const std::uint32_t magnitude = half.bits & 0x7fffU;
    const auto sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
    const auto finite =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112F);
    const std::uint32_t special = 0x7f800000U | (magnitude << 13);
    return std::bit_cast<float>(sign | (magnitude >= 0x7c00U ? special : finite));
}
template <class T>
float value_of(T number) {
    return static_cast<float>(number);
}

template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class Bits>
Bits swapped(Bits bits) {
    if constexpr (sizeof(Bits) == 2) return __builtin_bswap16(bits);
    if constexpr (sizeof(Bits) == 4) return __builtin_bswap32(bits);
    if constexpr (sizeof(Bits) == 8) return __builtin_bswap64(bits);
    return bits;
}

template <class T, bool Swap>
float load(const std::byte* from) {
    BitsOf<T> bits;
    std::memcpy(&bits, from, sizeof bits);
    if constexpr (Swap) bits = swapped(bits);
    return value_of(std::bit_cast<T>(bits));
}

template <class T, bool Swap>
void convert_numbers(const std::byte* raw, index_t count, float* __restrict out) {
    for (index_t i = 0; i < count; ++i) {
        out[i] = load<T, Swap>(raw + i * static_cast<index_t>(sizeof(T)));
    }
}

template <class T, bool Swap>
void convert_samples(const SampleForm&, const std::byte* raw, index_t count, float* out) {
    convert_numbers<T, Swap>(raw, count, out);
}

template <class T, bool Swap>
void convert_samples(const SampleForm& form, const std::byte* raw, index_t count,
                     std::complex<float>* out) {
    if (form.real_at == 0 && form.imag_at == sizeof(T) && form.sample_bytes == 2 * sizeof(T)) {
        convert_numbers<T, Swap>(raw, 2 * count, reinterpret_cast<float*>(out));
        return;
    }
    for (index_t i = 0; i < count; ++i) {
        const std::byte* sample = raw + i * static_cast<index_t>(form.sample_bytes);
        out[i] = {load<T, Swap>(sample + form.real_at), load<T, Swap>(sample + form.imag_at)};
    }
}

template <class Sample>
using Convert = void (*)(const SampleForm&, const std::byte*, index_t, Sample*);

template <class T, class Sample>
Convert<Sample> conversion_from(bool swap) {
    if (swap) return convert_samples<T, true>;
    return convert_samples<T, false>;
}

bool is_swapped(const Number& number) {
    return number.big_endian != (std::endian::native == std::endian::big);
}

template <class Sample>
Convert<Sample> conversion_for(const Number& number) {
    const bool swap = is_swapped(number);
    const bool is_signed = number.kind == Number::Kind::signed_integer;
    if (number.kind == Number::Kind::floating) {
        switch (number.bytes) {
            case 2:
                return conversion_from<Half, Sample>(swap);
            case 4:
                return conversion_from<float, Sample>(swap);
            default:
                return conversion_from<double, Sample>(swap);
        }
    }
    switch (number.bytes) {
        case 1:
            return is_signed ? conversion_from<std::int8_t, Sample>(swap)
                             : conversion_from<std::uint8_t, Sample>(swap);
        case 2:
            return is_signed ? conversion_from<std::int16_t, Sample>(swap)
                             : conversion_from<std::uint16_t, Sample>(swap);
        case 4:
            return is_signed ? conversion_from<std::int32_t, Sample>(swap)
                             : conversion_from<std::uint32_t, Sample>(swap);
        default:
            return is_signed ? conversion_from<std::int64_t, Sample>(swap)
                             : conversion_from<std::uint64_t, Sample>(swap);
    }
}

bool is_half(hid_t type) {
    std::size_t sign = 0;
    std::size_t exponent = 0;
    std::size_t exponent_bits = 0;
    std::size_t mantissa = 0;
    std::size_t mantissa_bits = 0;
    return H5Tget_size(type) == 2 && H5Tget_precision(type) == 16 && H5Tget_ebias(type) == 15 &&
           H5Tget_norm(type) == H5T_NORM_IMPLIED &&
           H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
           sign == 15 && exponent == 10 && exponent_bits == 5 && mantissa == 0 &&
           mantissa_bits == 10;
}

std::string member_name(hid_t type, unsigned member) {
    char* stored = H5Tget_member_name(type, member);
    std::string words = stored == nullptr ? "" : stored;
    H5free_memory(stored);
    return words;
}

}  // namespace

std::string Number::text() const {
    const char* kind_text = kind == Kind::floating         ? "float"
                            : kind == Kind::signed_integer ? "int"
                                                           : "uint";
    return core::text(kind_text, bytes * 8, big_endian && bytes > 1 ? " big-endian" : "");
}

std::optional<Number> number_of(hid_t type) {
    const H5T_class_t type_class = H5Tget_class(type);
    const std::size_t bytes = H5Tget_size(type);
    const H5T_order_t order = H5Tget_order(type);
    if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;
    const bool big_endian = order == H5T_ORDER_BE;
    if (type_class == H5T_FLOAT) {
        const bool known = is_half(type) ||
                           H5Tequal(type, big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE) > 0 ||
                           H5Tequal(type, big_endian ? H5T_IEEE_F64BE : H5T_IEEE_F64LE) > 0;
        if (known) return Number{Number::Kind::floating, bytes, big_endian};
    } else if (type_class == H5T_INTEGER && std::has_single_bit(bytes) && bytes <= 8 &&
               H5Tget_precision(type) == 8 * bytes) {
        const H5T_sign_t sign = H5Tget_sign(type);
        if (sign == H5T_SGN_2) return Number{Number::Kind::signed_integer, bytes, big_endian};
        if (sign == H5T_SGN_NONE) return Number{Number::Kind::unsigned_integer, bytes, big_endian};
    }
    return std::nullopt;
}

bool SampleForm::native() const {
    return number.kind == Number::Kind::floating && number.bytes == sizeof(float) &&
           !is_swapped(number) && real_at == 0 && sample_bytes == imag_at + sizeof(float);
}

void SampleForm::convert(const std::byte* raw, index_t count, float* out) const {
    conversion_for<float>(number)(*this, raw, count, out);
}

void SampleForm::convert(const std::byte* raw, index_t count, std::complex<float>* out) const {
    conversion_for<std::complex<float>>(number)(*this, raw, count, out);
}

std::optional<SampleForm> compound_form(hid_t type) {
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) return std::nullopt;
    const std::array<std::string, 2> names = {member_name(type, 0), member_name(type, 1)};
    for (const PartNames& pair : part_names) {
        const bool in_order = names[0] == pair.real && names[1] == pair.imag;
        const bool swapped = names[0] == pair.imag && names[1] == pair.real;
        if (!in_order && !swapped) continue;
        const Handle first{H5Tget_member_type(type, 0), H5Tclose};
        const Handle second{H5Tget_member_type(type, 1), H5Tclose};
        const std::optional<Number> number = number_of(first);
        if (!number || H5Tequal(first, second) <= 0) return std::nullopt;
        const std::array<std::size_t, 2> at = {H5Tget_member_offset(type, 0),
                                               H5Tget_member_offset(type, 1)};
        const std::size_t sample_bytes = H5Tget_size(type);
        for (const std::size_t offset : at) {
            if (offset > sample_bytes || number->bytes > sample_bytes - offset) return std::nullopt;
        }
        const bool as_complex = number->kind == Number::Kind::floating && number->bytes >= 4;
        const std::string element = as_complex ? core::text("complex", 16 * number->bytes,
                                                            number->big_endian ? " big-endian" : "")
                                               : number->text();
        return SampleForm{*number, sample_bytes, at[swapped ? 1 : 0], at[swapped ? 0 : 1],
                          core::text(element, " {", names[0], ",", names[1], "}")};
    }
    return std::nullopt;
}

std::optional<SampleForm> trailing_form(hid_t type) {
    const std::optional<Number> number = number_of(type);
    if (!number) return std::nullopt;
    return SampleForm{*number, 2 * number->bytes, 0, number->bytes,
                      core::text(number->text(), " [...,2]")};
}

}  // namespace aperture::media
