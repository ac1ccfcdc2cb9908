// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/argument_fields.hpp"

#include <charconv>
#include <cmath>

#include "aperture/core/error.hpp"

namespace aperture::apps {

double parse_number(std::string_view option, std::string_view text) {
    std::string_view digits = text;
    if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    core::expects(
        error == std::errc() && end == digits.data() + digits.size() && std::isfinite(value),
        option, " ", text, ": expected a number");
    return value;
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
