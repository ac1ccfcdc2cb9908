// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/taper.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "aperture/core/error.hpp"

namespace aperture::signal {

using std::numbers::pi;

namespace {

constexpr std::pair<Taper::Kind, std::string_view> names[] = {
    {Taper::Kind::none, "none"}, {Taper::Kind::hann, "hann"}, {Taper::Kind::hamming, "hamming"}};
constexpr std::string_view chebyshev_prefix = "chebyshev:";

std::vector<double> raised_cosine(double mean, int length) {
    std::vector<double> weights;
    for (int i = 0; i < length; ++i) {
        weights.push_back(mean - (1 - mean) * std::cos(2 * pi * i / (length - 1)));
    }
    return weights;
}

/// Dolph 1946: the window whose transform is the Chebyshev polynomial T_m(x0 cos(theta / 2)),
/// m = length - 1, sampled at theta = 2 pi k / length and transformed back.
std::vector<double> chebyshev(double attenuation_db, int length) {
    const int degree = length - 1;
    const double x0 = std::cosh(std::acosh(std::pow(10.0, attenuation_db / 20)) / degree);
    std::vector<double> spectrum;
    for (int k = 0; 2 * k < length; ++k) {
        const double x = x0 * std::cos(pi * k / length);
        spectrum.push_back(x <= 1 ? std::cos(degree * std::acos(x))
                                  : std::cosh(degree * std::acosh(x)));
    }
    std::vector<double> weights;
    for (int i = 0; i < length; ++i) {
        double sum = spectrum[0] / 2;
        for (std::size_t k = 1; k < spectrum.size(); ++k) {
            const double offset = i - 0.5 * degree;
            sum += spectrum[k] * std::cos(2 * pi * static_cast<double>(k) * offset / length);
        }
        weights.push_back(sum);
    }
    return weights;
}

void check_attenuation(double attenuation_db) {
    constexpr double max_db = 200;  // what double precision can hold, and some
    core::expects(attenuation_db > 0 && attenuation_db <= max_db,
                  "taper chebyshev:", attenuation_db, ": expected dB above 0, at most ", max_db);
}

}  // namespace

Taper parse_taper(std::string_view text) {
    for (const auto& [kind, name] : names) {
        if (text == name) return {kind};
    }
    if (text.starts_with(chebyshev_prefix)) {
        const std::string_view number = text.substr(chebyshev_prefix.size());
        double attenuation_db = 0;
        const char* end = number.data() + number.size();
        const auto [rest, error] = std::from_chars(number.data(), end, attenuation_db);
        if (error == std::errc() && rest == end) {
            check_attenuation(attenuation_db);
            return {Taper::Kind::chebyshev, attenuation_db};
        }
    }
    throw core::InvalidArgument(
        core::text("taper \"", text, "\" is not none, hann, hamming or chebyshev:dB"));
}

std::string to_string(const Taper& taper) {
    for (const auto& [kind, name] : names) {
        if (taper.kind == kind) return std::string(name);
    }
    return core::text(chebyshev_prefix, taper.attenuation_db);
}

std::vector<double> taper_weights(const Taper& taper, int length) {
    core::expects(length >= 0, "taper length ", length, " is negative");
    std::vector<double> weights(static_cast<std::size_t>(length), 1.0);
    if (taper.kind == Taper::Kind::chebyshev) check_attenuation(taper.attenuation_db);
    // Two samples are equal by symmetry, and one by the peak; Hann's formula would yield zeros.
    if (length <= 2) return weights;
    if (taper.kind == Taper::Kind::hann) weights = raised_cosine(0.5, length);
    if (taper.kind == Taper::Kind::hamming) weights = raised_cosine(0.54, length);
    if (taper.kind == Taper::Kind::chebyshev) weights = chebyshev(taper.attenuation_db, length);
    const double peak = *std::max_element(weights.begin(), weights.end());
    for (double& weight : weights) weight /= peak;
    return weights;
}

}  // namespace aperture::signal
