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

/// Name and value of everything that decided a result, as reports have them.
using ResultParameters = std::vector<std::pair<std::string, core::Report::Value>>;

/// Findings by name, as reports have them.
using ReportValues = std::map<std::string, core::Report::Value>;

/// A count of any type, as reports have it.
template <class Count>
long long integer(Count count) {
    return static_cast<long long>(count);
}

/// The words of the command line, with a space between.
std::string command_line(int argc, char** argv);

/// Attributes of the file: `program`, `version`, `git`, `command_line` and every parameter.
void write_parameters(media::ResultFile& file, const std::string& program,
                      const std::string& command_line, const ResultParameters& parameters);

}  // namespace aperture::apps
