// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap_sim/scene_forms.hpp"

#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"
#include "apps/common/argument_fields.hpp"

namespace aperture::apps {
namespace {

constexpr double max_range_cell = 1e12;
// Larger values would lose the noise in the fp32 samples.
constexpr NumberRange decibels{-300, 150};

void expect_visible(std::string_view option, double azimuth) {
    core::expects(azimuth >= -90 && azimuth <= 90, option, " azimuth ", azimuth,
                  ": expected degrees from boresight, -90 to 90");
}

}  // namespace

stap::Target parse_target(std::string_view text) {
    const auto fields = split(text, ':');
    core::expects(fields.size() == 4, "--target ", text, ": expected range:doppler:azimuth:snr");
    const double range_cell = parse_number("--target", fields[0]);
    core::expects(
        range_cell >= 0 && range_cell < max_range_cell && range_cell == std::floor(range_cell),
        "--target ", text, ": the range cell must be a whole number from 0");
    const stap::Target target{
        static_cast<core::index_t>(range_cell), parse_number("--target", fields[1]),
        parse_number("--target", fields[2]), parse_number("--target", fields[3], decibels)};
    core::expects(std::abs(target.doppler) <= 0.5, "--target ", text,
                  ": Doppler is in cycles per pulse, -0.5 to 0.5");
    expect_visible("--target", target.azimuth_degrees);
    return target;
}

double parse_cnr(std::string_view text) {
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return parse_number("--cnr", text, decibels);
}

stap::Jammer parse_jammer(std::string_view text) {
    const auto fields = split(text, ':');
    core::expects(fields.size() == 2, "--jammer ", text, ": expected azimuth:jnr");
    const stap::Jammer jammer{parse_number("--jammer", fields[0]),
                              parse_number("--jammer", fields[1], decibels)};
    expect_visible("--jammer", jammer.azimuth_degrees);
    return jammer;
}

}  // namespace aperture::apps
