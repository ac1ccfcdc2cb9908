// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/common/executor_choice.hpp"
#include "tests/usable_gpu.hpp"

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

/// Whether `with_executor` calls its work with the GPU, for every call.
template <class Fault = std::nullptr_t>
std::vector<bool> gpus_taken(DeviceChoice choice, [[maybe_unused]] Fault fault_of_gpu = {}) {
    std::vector<bool> taken;
    Console console("stap", false);
    core::Cpu cpu(1);
    with_executor(choice, cpu, console, [&]<class Executor>(Executor&) {
        taken.push_back(is_gpu<Executor>);
        if constexpr (is_gpu<Executor> && !std::same_as<Fault, std::nullptr_t>) {
            throw fault_of_gpu;
        }
    });
    return taken;
}

TEST(WithExecutor, TakesTheCpuThatWasAskedForSilently) {
    testing::internal::CaptureStderr();
    EXPECT_THAT(gpus_taken(DeviceChoice::cpu), testing::ElementsAre(false));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(WithExecutor, SaysWhichExecutorAnAutomaticChoiceTakes) {
    const core::GpuStatus status = core::gpu_status();
    testing::internal::CaptureStderr();
    EXPECT_THAT(gpus_taken(DeviceChoice::automatic), testing::ElementsAre(status.usable));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              status.usable ? "stap: device: GPU\n"
                            : "stap: device: CPU (no usable GPU: " + status.reason + ")\n");
}

TEST(WithExecutor, FailsWhereTheGpuThatWasAskedForIsNotUsable) {
    if (core::gpu_status().usable) GTEST_SKIP() << "there is a usable GPU";
    EXPECT_THROW(gpus_taken(DeviceChoice::gpu), core::DeviceError);
}

TEST(WithExecutor, BeginsAgainOnTheCpuWhereTheGpuIsUnfit) {
    if (const auto reason = tests::UsableGpu::why_not(); !reason.empty()) GTEST_SKIP() << reason;
    const core::UnfitDevice unfit("out of memory");
    testing::internal::CaptureStderr();
    EXPECT_THAT(gpus_taken(DeviceChoice::automatic, unfit), testing::ElementsAre(true, false));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "stap: device: GPU\nstap: device: CPU (out of memory)\n");
    EXPECT_THROW(gpus_taken(DeviceChoice::gpu, unfit), core::UnfitDevice);
    EXPECT_THROW(gpus_taken(DeviceChoice::automatic, core::DeviceError("illegal address")),
                 core::DeviceError);
}

}  // namespace
}  // namespace aperture::apps
