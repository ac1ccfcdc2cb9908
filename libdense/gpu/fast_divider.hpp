// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"

namespace aperture::dense {

/// Quotients by a divisor that a kernel learns at run time: a multiplication each. For dividends
/// whose product with the divisor is below 2^32.
struct FastDivider {
    unsigned divisor = 1;
    unsigned reciprocal = 0;  ///< 2^32 / divisor, rounded up

    FastDivider() = default;
    explicit FastDivider(int by)
        : divisor(static_cast<unsigned>(by)),
          reciprocal(by == 1 ? 0 : static_cast<unsigned>(((1ull << 32) + divisor - 1) / divisor)) {}

    APERTURE_HD int quotient(int dividend) const {
        const auto n = static_cast<unsigned>(dividend);
        const auto product = static_cast<unsigned long long>(n) * reciprocal;
        return static_cast<int>(divisor == 1 ? n : static_cast<unsigned>(product >> 32));
    }
    APERTURE_HD int size() const { return static_cast<int>(divisor); }
};

}  // namespace aperture::dense
