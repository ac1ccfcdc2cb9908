// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace aperture::tests {

/// Whether two arrays, vectors or spans hold the same bits: a NaN equals itself, and -0 is not 0.
template <class Values>
bool same_bytes(const Values& a, const Values& b) {
    const auto bytes = [](const Values& values) {
        return std::as_bytes(std::span(values.data(), static_cast<std::size_t>(values.size())));
    };
    return std::ranges::equal(bytes(a), bytes(b));
}

}  // namespace aperture::tests
