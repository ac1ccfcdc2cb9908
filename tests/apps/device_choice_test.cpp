// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/common/program.hpp"

namespace aperture::apps {
namespace {

struct Options {
    CommonOptions common;
    RunOptions run;
};

/// The devices that a run takes where the GPU is not up to the work.
std::vector<DeviceChoice> devices_taken(DeviceChoice choice) {
    std::vector<DeviceChoice> taken;
    Options asked;
    asked.run.device = choice;
    run_where_it_fits<Options>("corr", asked, [&](const Options& options) {
        taken.push_back(options.run.device);
        if (options.run.device != DeviceChoice::cpu) throw core::UnfitDevice("out of memory");
        return 0;
    });
    return taken;
}

TEST(DeviceChoice, TakesTheCpuWhereTheGpuIsNotUpToTheWork) {
    testing::internal::CaptureStderr();
    EXPECT_THAT(devices_taken(DeviceChoice::automatic),
                testing::ElementsAre(DeviceChoice::automatic, DeviceChoice::cpu));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "corr: device: CPU (out of memory)\n");
    EXPECT_THAT(devices_taken(DeviceChoice::cpu), testing::ElementsAre(DeviceChoice::cpu));
}

TEST(DeviceChoice, FailsWhereTheGpuThatWasAskedForIsNot) {
    EXPECT_THROW(devices_taken(DeviceChoice::gpu), core::UnfitDevice);
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_program("corr", [] { return devices_taken(DeviceChoice::gpu).empty() ? 0 : 1; }),
              exit_internal);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "corr: error: out of memory\n");
}

TEST(DeviceChoice, DoesNotHideFaults) {
    const auto fault = [](const Options&) -> int { throw core::DeviceError("illegal address"); };
    EXPECT_THROW(run_where_it_fits<Options>("corr", {}, fault), core::DeviceError);
}

}  // namespace
}  // namespace aperture::apps
