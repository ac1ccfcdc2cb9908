// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aperture/core/timing.hpp"

namespace aperture::core {

/// The output of `--report`: one JSON object (docs/formats.md). `parameters` keeps its order.
struct Report {
    using Value = std::variant<bool, long long, double, std::string>;

    std::string program;
    std::string device;
    int threads = 0;  ///< 0 on a GPU
    std::vector<std::pair<std::string, Value>> parameters;
    std::vector<Stage> stages;
    double compute_ms = 0;
    double transfer_ms = 0;
    double total_ms = 0;
    std::map<std::string, Value> accuracy;
    std::map<std::string, Value> sequence;              ///< of a series of inputs; omitted if empty
    std::vector<std::map<std::string, Value>> targets;  ///< of a truth; omitted if empty

    /// The JSON text; version and git commit are the library's. Non-finite numbers and work that
    /// was not counted become null; bytes that are not UTF-8, for example in file names, become
    /// U+FFFD.
    std::string json() const;
};

/// Median of each stage over several runs, which must have the same stages.
std::vector<Stage> median_stages(const std::vector<std::vector<Stage>>& runs);

/// The project's version, "0.1.0", and the git commit it was built from ("unknown" outside git).
const char* version();
const char* git_commit();

}  // namespace aperture::core
