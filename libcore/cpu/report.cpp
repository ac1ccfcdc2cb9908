// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aperture/core/error.hpp"
#include "aperture_version.hpp"

namespace aperture::core {

const char* version() { return APERTURE_VERSION; }
const char* git_commit() { return APERTURE_GIT_COMMIT; }

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Report::Value& value) {
    return std::visit([](const auto& v) { return Json(v); }, value);
}

Json counted(double amount) { return amount > 0 ? Json(amount) : Json(); }

}  // namespace

std::string Report::json() const {
    Json object;
    object["program"] = program;
    object["version"] = version();
    object["git"] = git_commit();
    object["device"]["name"] = device;
    if (threads > 0) object["device"]["threads"] = threads;
    object["parameters"] = Json::object();
    for (const auto& [name, value] : parameters) object["parameters"][name] = json_of(value);
    object["stages"] = Json::array();
    for (const Stage& stage : stages) {
        object["stages"].push_back({{"name", stage.name},
                                    {"ms", stage.ms},
                                    {"gflop", counted(stage.gflop)},
                                    {"mb", counted(stage.mb)}});
    }
    object["compute_ms"] = compute_ms;
    object["transfer_ms"] = transfer_ms;
    object["total_ms"] = total_ms;
    object["accuracy"] = Json::object();
    for (const auto& [name, value] : accuracy) object["accuracy"][name] = json_of(value);
    for (const auto& [name, value] : sequence) object["sequence"][name] = json_of(value);
    for (const auto& target : targets) {
        Json found;
        for (const auto& [name, value] : target) found[name] = json_of(value);
        object["targets"].push_back(found);
    }
    constexpr int indent = 2;
    return object.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::vector<Stage> median_stages(const std::vector<std::vector<Stage>>& runs) {
    if (runs.empty()) return {};
    std::vector<Stage> medians = runs.front();
    for (std::size_t s = 0; s < medians.size(); ++s) {
        std::vector<double> times;
        for (const auto& run : runs) {
            expects(run.size() == medians.size() && run[s].name == medians[s].name,
                    "the median requires runs of equal stages");
            times.push_back(run[s].ms);
        }
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        medians[s].ms = *middle;
        if (times.size() % 2 == 0) {
            medians[s].ms = (medians[s].ms + *std::max_element(times.begin(), middle)) / 2;
        }
    }
    return medians;
}

}  // namespace aperture::core
