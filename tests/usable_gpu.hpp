// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "aperture/core/executor.hpp"

namespace aperture::tests {

/// Whether GPU suites omit the cases that take minutes under scripts/sanitize_gpu.
inline bool small_shapes() { return std::getenv("APERTURE_SMALL_SHAPES") != nullptr; }

/// Base of the runners of GPU suites: the GPU, if one is usable.
struct UsableGpu {
    std::optional<core::Gpu> gpu;

    UsableGpu() {
        if (core::gpu_status().usable) gpu.emplace();
    }
    /// Why no GPU is usable; empty if one is.
    static std::string why_not() {
        const core::GpuStatus status = core::gpu_status();
        return status.usable ? "" : "no usable GPU: " + status.reason;
    }
};

/// Skips its tests, with the reason, if no GPU is usable.
class GpuTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = UsableGpu::why_not(); !reason.empty()) {
            GTEST_SKIP() << reason;
        }
    }
};

}  // namespace aperture::tests
