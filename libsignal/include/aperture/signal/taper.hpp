// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aperture::signal {

/// A window along pulses or channels that trades main-lobe width for low side lobes.
struct Taper {
    enum class Kind { none, hann, hamming, chebyshev };
    Kind kind = Kind::none;
    double attenuation_db =
        0;  ///< side-lobe level below the main lobe; chebyshev only, above 0 to 200

    bool operator==(const Taper&) const = default;
};

/// Reads "none", "hann", "hamming" or "chebyshev:60"; throws core::InvalidArgument otherwise.
Taper parse_taper(std::string_view text);
std::string to_string(const Taper& taper);

/// The symmetric window of `length` samples, scaled to a peak of one (Harris 1978; Dolph 1946 for
/// Chebyshev). Length 1 is {1}.
std::vector<double> taper_weights(const Taper& taper, int length);

}  // namespace aperture::signal
