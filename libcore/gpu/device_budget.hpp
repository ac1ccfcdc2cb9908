// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "aperture/core/error.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::core {

/// Device memory for the pieces of an operation.
struct DeviceBudget {
    std::size_t bytes = 0;
    bool of_caller = true;

    /// Throws, unless it is `enough`, with the bytes that `what` requires: InvalidArgument, or
    /// UnfitDevice to a caller who named no bytes and made no mistake.
    void expects(bool enough, const char* what, std::size_t required) const {
        if (enough) return;
        const std::string words =
            text(bytes, " bytes of device memory are too few; ", what, " requires ", required);
        if (of_caller) throw InvalidArgument(words);
        throw UnfitDevice(words);
    }
};

/// The bytes a caller named, or for 0 most of what is free.
inline DeviceBudget device_budget(const Gpu& gpu, std::size_t device_bytes) {
    constexpr double share_of_free_memory = 0.9;
    if (device_bytes > 0) return {device_bytes, true};
    return {static_cast<std::size_t>(share_of_free_memory * double(gpu.free_memory())), false};
}

}  // namespace aperture::core
