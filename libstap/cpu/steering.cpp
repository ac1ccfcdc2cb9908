// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/steering.hpp"

#include <cmath>
#include <numbers>

namespace aperture::stap {

using core::expects;
using std::numbers::pi;

std::vector<std::complex<double>> spatial_steering(int channels, double spacing_wavelengths,
                                                   double azimuth_degrees) {
    expects(channels >= 1, "steering over ", channels, " channels, expected at least 1");
    expects(std::isfinite(spacing_wavelengths) && spacing_wavelengths > 0, "element spacing ",
            spacing_wavelengths, " wavelengths is not a number > 0");
    expects(std::abs(azimuth_degrees) <= 90, "azimuth ", azimuth_degrees,
            " degrees is outside -90 .. 90");
    const double phase = 2 * pi * spacing_wavelengths * std::sin(azimuth_degrees * pi / 180);
    std::vector<std::complex<double>> steering;
    for (int n = 0; n < channels; ++n) steering.push_back(std::polar(1.0, phase * n));
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
    const auto taps = static_cast<index_t>(response.size());
    const auto count = static_cast<index_t>(azimuths_degrees.size());
    core::Array<cfloat, 2> steering({count, channels * taps});
    for (index_t d = 0; d < count; ++d) {
        const std::vector<std::complex<double>> space = spatial_steering(
            channels, spacing_wavelengths, azimuths_degrees[static_cast<std::size_t>(d)]);
        for (index_t i = 0; i < channels * taps; ++i)
            steering(d, i) = cfloat(space[static_cast<std::size_t>(i / taps)] *
                                    response[static_cast<std::size_t>(i % taps)]);
    }
    return steering;
}

std::vector<double> default_azimuths(int count) {
    expects(count >= 1, count, " directions, expected at least 1");
    std::vector<double> azimuths;
    for (int d = 0; d < count; ++d)
        azimuths.push_back(std::asin((2.0 * d + 1) / count - 1) * 180 / pi);
    return azimuths;
}

}  // namespace aperture::stap
