// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/positions.hpp"

#include <array>
#include <cmath>
#include <fstream>

#include "aperture/core/error.hpp"
#include "apps/common/argument_fields.hpp"

namespace aperture::apps {
namespace {

constexpr double farthest = 1e6;  // wavelengths; beyond, phases lose their digits
constexpr std::string_view separators = ", \t\r";

std::vector<double> numbers_of(std::string_view line, const std::string& label) {
    line = line.substr(0, line.find('#'));
    std::vector<double> numbers;
    for (;;) {
        const auto first = line.find_first_not_of(separators);
        if (first == std::string_view::npos) return numbers;
        line.remove_prefix(first);
        const std::string_view word = line.substr(0, line.find_first_of(separators));
        line.remove_prefix(word.size());
        const auto number = number_in<double>(word);
        core::expects(number && std::abs(*number) <= farthest, label, ": '", word,
                      "' is no number from ", -farthest, " to ", farthest);
        numbers.push_back(*number);
    }
}

}  // namespace

std::vector<stap::ElementPosition> read_positions(const std::filesystem::path& file) {
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    core::expects(std::filesystem::exists(status), file.string(), ": no such file");
    core::expects(std::filesystem::is_regular_file(status), file.string(), ": not a regular file");
    std::ifstream in(file);
    core::expects(in.is_open(), file.string(), ": cannot be opened");
    std::vector<stap::ElementPosition> positions;
    std::size_t coordinates = 0;
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        const std::string label = core::text(file.string(), ':', number);
        std::vector<double> values = numbers_of(line, label);
        if (values.empty()) continue;
        if (positions.empty()) coordinates = values.size();
        core::expects(values.size() <= 3, label, ": ", values.size(),
                      " numbers, expected x, y, z in wavelengths");
        core::expects(values.size() == coordinates, label, ": ", values.size(),
                      " numbers, but the lines before have ", coordinates);
        values.resize(3);
        positions.push_back({values[0], values[1], values[2]});
    }
    core::expects(in.eof() && !in.bad(), file.string(), ": cannot be read");
    core::expects(!positions.empty(), file.string(), ": contains no position");
    return positions;
}

}  // namespace aperture::apps
