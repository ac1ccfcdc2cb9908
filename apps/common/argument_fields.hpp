// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace aperture::apps {

/// The number whose digits are all of `text`; nothing if there is none.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Parses "3", "-1.5e2", "+14" or throws core::InvalidArgument "OPTION TEXT: expected a number".
double parse_number(std::string_view option, std::string_view text);

/// The values an option accepts: from `least`, or only above it, to `most`.
struct NumberRange {
    double least = 0;
    double most = 0;
    bool above = false;
};
/// Limits for radars: degrees from boresight, element spacing in wavelengths, pulse repetition
/// frequency in Hz.
inline constexpr NumberRange azimuth_range{-90, 90};
inline constexpr NumberRange spacing_range{0, 1000, true};
inline constexpr NumberRange prf_range{0, 1e12, true};

/// Parses a number within `range`; otherwise throws "OPTION TEXT: expected a number from 1 to 5".
double parse_number(std::string_view option, std::string_view text, const NumberRange& range);

/// Parses an integer without a point, a plus sign or other characters. Otherwise throws
/// core::InvalidArgument "OPTION TEXT: expected a whole number from 0 to 9".
std::int64_t parse_whole_number(std::string_view option, std::string_view text, std::int64_t least,
                                std::int64_t most);

/// Parses values within `range`: a list "a,b,c"; START:STOP:COUNT for COUNT evenly spaced values
/// with both ends; or START:STOP:log:COUNT for values in a constant ratio. Throws
/// core::InvalidArgument.
std::vector<double> parse_values(std::string_view option, std::string_view text,
                                 const NumberRange& range);

/// Splits at every `separator`; empty text yields one empty field.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace aperture::apps
