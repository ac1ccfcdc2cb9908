// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which transforms are possible, and which lengths are fast, for every executor.

#include <climits>
#include <initializer_list>

#include "aperture/core/error.hpp"
#include "aperture/signal/fft.hpp"

namespace aperture::signal {

/// Throws core::InvalidArgument for a batch that libraries with arguments of type int cannot plan.
inline void expects_possible(const FftBatch& batch) {
    const auto fits = [](core::index_t value) { return value >= 0 && value <= INT_MAX; };
    core::expects(batch.length >= 1 && fits(batch.count) && batch.stride >= 1 &&
                      fits(batch.stride) && fits(batch.distance),
                  "FFT of length ", batch.length, ", count ", batch.count, ", stride ",
                  batch.stride, ", distance ", batch.distance, " is not possible");
}

/// The smallest number from `min`, at least 1, on without prime factors other than these.
inline core::index_t good_length(core::index_t min, std::initializer_list<int> primes) {
    for (core::index_t length = min;; ++length) {
        core::index_t rest = length;
        for (const int prime : primes) {
            while (rest % prime == 0) rest /= prime;
        }
        if (rest == 1) return length;
    }
}

}  // namespace aperture::signal
