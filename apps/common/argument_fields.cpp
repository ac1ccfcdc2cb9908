// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/argument_fields.hpp"

#include <cmath>

#include "aperture/core/error.hpp"

namespace aperture::apps {

namespace {

/// Nothing if the text is not a finite number.
std::optional<double> finite_number(std::string_view digits) {
    if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
    const auto value = number_in<double>(digits);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

double parse_number(std::string_view option, std::string_view text) {
    const auto value = finite_number(text);
    core::expects(value.has_value(), option, ' ', text, ": expected a number");
    return *value;
}

double parse_number(std::string_view option, std::string_view text, const NumberRange& range) {
    const auto value = finite_number(text);
    const bool inside = value && *value <= range.most &&
                        (range.above ? *value > range.least : *value >= range.least);
    core::expects(inside, option, ' ', text, ": expected a number ",
                  range.above ? "above " : "from ", range.least,
                  range.above ? ", at most " : " to ", range.most);
    return *value;
}

std::int64_t parse_whole_number(std::string_view option, std::string_view text, std::int64_t least,
                                std::int64_t most) {
    const auto value = number_in<std::int64_t>(text);
    core::expects(value && *value >= least && *value <= most, option, ' ', text,
                  ": expected a whole number from ", least, " to ", most);
    return *value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> fields;
    for (;;) {
        const auto end = text.find(separator);
        fields.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return fields;
        text.remove_prefix(end + 1);
    }
}

}  // namespace aperture::apps
