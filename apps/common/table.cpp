// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/table.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

namespace aperture::apps {
namespace {

/// The shortest digits that are read as `number`.
template <class Number>
std::string csv_field(Number number) {
    if constexpr (std::is_floating_point_v<Number>) {
        // Whatever its sign.
        if (std::isnan(number)) return "nan";
    }
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
    return quoted + '"';
}

}  // namespace

std::string csv_text(const std::vector<media::Column>& columns) {
    std::string table;
    const auto append = [&](const media::Column& column, const std::string& field) {
        table += field;
        table += &column == &columns.back() ? '\n' : ',';
    };
    for (const auto& column : columns) append(column, column.name);
    const auto rows =
        std::visit([](const auto& values) { return values.size(); }, columns.front().values);
    for (std::size_t row = 0; row < rows; ++row) {
        for (const auto& column : columns) {
            append(column, std::visit([&](const auto& values) { return csv_field(values[row]); },
                                      column.values));
        }
    }
    return table;
}

}  // namespace aperture::apps
