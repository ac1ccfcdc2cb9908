// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/report.hpp"
#include "aperture/media/result_file.hpp"

namespace aperture::apps {

/// Names and values of everything that determined a result, for reports.
using ResultParameters = std::vector<std::pair<std::string, core::Report::Value>>;

/// Results by name, for reports.
using ReportValues = std::map<std::string, core::Report::Value>;

/// A count of any type, as a report value.
template <class Count>
long long integer(Count count) {
    return static_cast<long long>(count);
}

/// The command line's words, separated by spaces.
std::string command_line(int argc, char** argv);

/// Writes attributes of the file: `program`, `version`, `git`, `command_line` and every parameter.
void write_parameters(media::ResultFile& file, const std::string& program,
                      const std::string& command_line, const ResultParameters& parameters);

}  // namespace aperture::apps
