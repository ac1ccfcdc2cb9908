// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace aperture::apps {

/// "3", "-1.5e2", "+14"; throws core::InvalidArgument "OPTION TEXT: expected a number" otherwise.
double parse_number(std::string_view option, std::string_view text);

/// The numbers that an option takes: from `least`, or only those above it, to `most`.
struct NumberRange {
    double least = 0;
    double most = 0;
    bool above = false;
};
/// Radars have them: element spacing in wavelengths, pulse repetition frequency in Hz.
inline constexpr NumberRange spacing_range{0, 1000, true};
inline constexpr NumberRange prf_range{0, 1e12, true};

/// The same for a number in the range; throws "OPTION TEXT: expected a number from 1 to 5".
double parse_number(std::string_view option, std::string_view text, const NumberRange& range);

/// A number without a point, sign of plus, or anything else around it. Throws
/// core::InvalidArgument "OPTION TEXT: expected a whole number from 0 to 9".
std::int64_t parse_whole_number(std::string_view option, std::string_view text, std::int64_t least,
                                std::int64_t most);

/// Splits at every `separator`; the empty text gives one empty field.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace aperture::apps
