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

std::vector<double> parse_values(std::string_view option, std::string_view text,
                                 const NumberRange& range) {
    constexpr std::int64_t max_count = 1'000'000;
    const auto number = [&](std::string_view field) { return parse_number(option, field, range); };
    std::vector<double> values;
    const auto fields = split(text, ':');
    if (fields.size() == 1) {
        for (const auto field : split(text, ',')) values.push_back(number(field));
        return values;
    }
    const bool logarithmic = fields.size() == 4 && fields[2] == "log";
    core::expects(fields.size() == 3 || logarithmic, option, " ", text,
                  ": expected a,b,c or START:STOP:COUNT or START:STOP:log:COUNT");
    const double start = number(fields[0]);
    const double stop = number(fields[1]);
    const std::int64_t count =
        parse_whole_number(core::text(option, " count"), fields.back(), 1, max_count);
    core::expects(!logarithmic || (start > 0 && stop > 0), option, " ", text,
                  ": values in a constant ratio must be positive");
    const auto steps = static_cast<double>(count - 1);
    for (std::int64_t i = 0; i + 1 < count; ++i) {
        const auto step = static_cast<double>(i);
        values.push_back(logarithmic ? start * std::pow(stop / start, step / steps)
                                     : start + (stop - start) * step / steps);
    }
    values.push_back(count == 1 ? start : stop);
    return values;
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
