// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/argument_forms.hpp"

#include <cmath>
#include <sstream>

#include "apps/common/argument_fields.hpp"

namespace aperture::apps {
namespace {

constexpr std::string_view relative_prefix = "rel:";
constexpr int max_azimuths = 1'000'000;
// A larger loading leaves only the diagonal in an fp32 covariance.
constexpr NumberRange loading_range{0, 1e30};

void expect_visible(double azimuth) {
    core::expects(azimuth >= -90 && azimuth <= 90, "--azimuth ", azimuth,
                  ": expected degrees from boresight, -90 to 90");
}

}  // namespace

std::vector<double> parse_azimuths(std::string_view text) {
    std::vector<double> azimuths;
    const auto range = split(text, ':');
    if (range.size() == 1) {
        for (const auto field : split(text, ',')) {
            azimuths.push_back(parse_number("--azimuth", field));
        }
    } else {
        core::expects(range.size() == 3, "--azimuth ", text,
                      ": expected a,b,c or start:stop:count in degrees");
        const double start = parse_number("--azimuth", range[0]);
        const double stop = parse_number("--azimuth", range[1]);
        const double count = parse_number("--azimuth", range[2]);
        core::expects(count >= 1 && count <= max_azimuths && count == std::floor(count),
                      "--azimuth ", text, ": the count must be a whole number from 1");
        for (int i = 0; i < static_cast<int>(count); ++i) {
            azimuths.push_back(i == 0 ? start : start + (stop - start) * i / (count - 1));
        }
    }
    for (const double azimuth : azimuths) expect_visible(azimuth);
    return azimuths;
}

stap::DiagonalLoading parse_loading(std::string_view text) {
    stap::DiagonalLoading loading;
    loading.relative = text.starts_with(relative_prefix);
    const auto number = loading.relative ? text.substr(relative_prefix.size()) : text;
    loading.value = parse_number("--loading", number, loading_range);
    return loading;
}

std::string to_string(const stap::DiagonalLoading& loading) {
    std::ostringstream text;
    text << (loading.relative ? relative_prefix : "") << loading.value;
    return text.str();
}

CubeName parse_cube_name(const std::string& text) {
    const auto colon = text.rfind(":/");
    if (colon == std::string::npos || colon == 0 || std::filesystem::exists(text)) {
        return {text, ""};
    }
    return {text.substr(0, colon), text.substr(colon + 1)};
}

SavedResults parse_saved_results(std::string_view text) {
    SavedResults saved;
    for (const auto name : split(text, ',')) {
        bool* const flag = name == "covariance" ? &saved.covariance
                           : name == "weights"  ? &saved.weights
                           : name == "info"     ? &saved.info
                           : name == "steering" ? &saved.steering
                                                : nullptr;
        core::expects(flag != nullptr, "--save ", name,
                      ": expected a list of covariance, weights, info, steering");
        *flag = true;
    }
    return saved;
}

}  // namespace aperture::apps
