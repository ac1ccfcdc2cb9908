// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "aperture/core/executor.hpp"

namespace aperture::tests {

/// Whether suites on a GPU leave out what scripts/sanitize_gpu would take minutes for.
inline bool small_shapes() { return std::getenv("APERTURE_SMALL_SHAPES") != nullptr; }

/// What the runners of suites on a GPU have in common: the GPU, where one can be used.
struct UsableGpu {
    std::optional<core::Gpu> gpu;

    UsableGpu() {
        if (core::gpu_status().usable) gpu.emplace();
    }
    /// Empty where there is a GPU.
    static std::string why_not() {
        const core::GpuStatus status = core::gpu_status();
        return status.usable ? "" : "no usable GPU: " + status.reason;
    }
};

/// Skipped, with the reason, where no GPU can be used.
class GpuTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = UsableGpu::why_not(); !reason.empty()) {
            GTEST_SKIP() << reason;
        }
    }
};

}  // namespace aperture::tests
