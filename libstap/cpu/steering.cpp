// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/steering.hpp"

#include <cmath>
#include <numbers>

namespace aperture::stap {

using core::expects;
using std::numbers::pi;

namespace {

double radians(double degrees) { return degrees * pi / 180; }

void check_line(int channels, double spacing_wavelengths) {
    expects(channels >= 1, "steering over ", channels, " channels, expected at least 1");
    expects(std::isfinite(spacing_wavelengths) && spacing_wavelengths > 0, "element spacing ",
            spacing_wavelengths, " wavelengths is not a number > 0");
}

void check_angle(const char* name, double degrees) {
    expects(std::abs(degrees) <= 90, name, " ", degrees, " degrees is outside -90 .. 90");
}

void check_elements(const std::vector<ElementPosition>& elements) {
    expects(!elements.empty(), "steering over 0 elements, expected at least 1");
    for (const ElementPosition& p : elements)
        expects(std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z),
                "element position (", p.x, ", ", p.y, ", ", p.z, ") is not finite");
}

/// One row per direction: `space(d)`, of `channels` elements, times the temporal response.
template <class Space>
core::Array<cfloat, 2> space_times_time(index_t channels, std::size_t directions,
                                        const std::vector<std::complex<double>>& response,
                                        const Space& space) {
    const auto taps = static_cast<index_t>(response.size());
    const auto count = static_cast<index_t>(directions);
    core::Array<cfloat, 2> steering({count, channels * taps});
    for (index_t d = 0; d < count; ++d) {
        const std::vector<std::complex<double>> factors = space(static_cast<std::size_t>(d));
        for (index_t i = 0; i < channels * taps; ++i)
            steering(d, i) = cfloat(factors[static_cast<std::size_t>(i / taps)] *
                                    response[static_cast<std::size_t>(i % taps)]);
    }
    return steering;
}

}  // namespace

std::vector<std::complex<double>> spatial_steering(int channels, double spacing_wavelengths,
                                                   double azimuth_degrees) {
    check_line(channels, spacing_wavelengths);
    check_angle("azimuth", azimuth_degrees);
    const double phase = 2 * pi * spacing_wavelengths * std::sin(radians(azimuth_degrees));
    std::vector<std::complex<double>> steering;
    for (int n = 0; n < channels; ++n) steering.push_back(std::polar(1.0, phase * n));
    return steering;
}

std::vector<ElementPosition> uniform_line(int channels, double spacing_wavelengths) {
    check_line(channels, spacing_wavelengths);
    std::vector<ElementPosition> elements;
    for (int n = 0; n < channels; ++n) elements.push_back({n * spacing_wavelengths, 0, 0});
    return elements;
}

std::vector<std::complex<double>> spatial_steering(const std::vector<ElementPosition>& elements,
                                                   Direction direction) {
    check_elements(elements);
    check_angle("azimuth", direction.azimuth_degrees);
    check_angle("elevation", direction.elevation_degrees);
    const double azimuth = radians(direction.azimuth_degrees);
    const double elevation = radians(direction.elevation_degrees);
    const double phase_x = 2 * pi * (std::sin(azimuth) * std::cos(elevation));
    const double phase_y = 2 * pi * std::sin(elevation);
    const double phase_z = 2 * pi * (std::cos(azimuth) * std::cos(elevation));
    std::vector<std::complex<double>> steering;
    for (const ElementPosition& p : elements)
        steering.push_back(std::polar(1.0, phase_x * p.x + phase_y * p.y + phase_z * p.z));
    return steering;
}

std::vector<std::complex<double>> temporal_response(const signal::Taper& taper, int pulses,
                                                    int doppler_bins, int taps) {
    expects(pulses >= 1 && doppler_bins >= pulses, doppler_bins, " Doppler bins for ", pulses,
            " pulses");
    expects(taps >= 1 && taps % 2 == 1, "temporal taps ", taps, " is not odd");
    const std::vector<double> weights = signal::taper_weights(taper, pulses);
    std::vector<std::complex<double>> response;
    for (int t = 0; t < taps; ++t) {
        const int bins_away = t - (taps - 1) / 2;
        const double step = -2 * pi * bins_away / doppler_bins;
        std::complex<double> sum = 0;
        for (int p = 0; p < pulses; ++p)
            sum += std::polar(weights[static_cast<std::size_t>(p)], step * p);
        response.push_back(sum);
    }
    const std::complex<double> middle = response[static_cast<std::size_t>(taps / 2)];
    for (std::complex<double>& h : response) h /= middle;
    return response;
}

core::Array<cfloat, 2> steering_vectors(int channels, double spacing_wavelengths,
                                        const std::vector<double>& azimuths_degrees,
                                        const std::vector<std::complex<double>>& response) {
    return space_times_time(channels, azimuths_degrees.size(), response, [&](std::size_t d) {
        return spatial_steering(channels, spacing_wavelengths, azimuths_degrees[d]);
    });
}

core::Array<cfloat, 2> steering_vectors(const std::vector<ElementPosition>& elements,
                                        const std::vector<Direction>& directions,
                                        const std::vector<std::complex<double>>& response) {
    check_elements(elements);
    return space_times_time(
        static_cast<index_t>(elements.size()), directions.size(), response,
        [&](std::size_t d) { return spatial_steering(elements, directions[d]); });
}

std::vector<double> default_azimuths(int count) {
    expects(count >= 1, count, " directions, expected at least 1");
    std::vector<double> azimuths;
    for (int d = 0; d < count; ++d)
        azimuths.push_back(std::asin((2.0 * d + 1) / count - 1) * 180 / pi);
    return azimuths;
}

}  // namespace aperture::stap
