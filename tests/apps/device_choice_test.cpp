// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/common/program.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::apps {
namespace {

/// The devices that run_where_it_fits uses, in order, if the work on the GPU throws `fault`.
template <class Fault>
std::vector<DeviceKind> devices_taken(DeviceKind kind, const Fault& fault) {
    std::vector<DeviceKind> taken;
    Console console("corr");
    const auto on_gpu = [&] {
        taken.push_back(DeviceKind::gpu);
        throw fault;
    };
    run_where_it_fits({kind}, console, on_gpu, [&] { taken.push_back(DeviceKind::cpu); });
    return taken;
}

TEST(DeviceChoice, TakesTheCpuWhereTheGpuIsNotUpToTheWork) {
    testing::internal::CaptureStderr();
    EXPECT_THAT(devices_taken(DeviceKind::automatic, core::UnfitDevice("out of memory")),
                testing::ElementsAre(DeviceKind::gpu, DeviceKind::cpu));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "corr: warning: computing on the CPU: out of memory\n");
}

TEST(DeviceChoice, FailsWhereTheGpuThatWasAskedForIsNot) {
    const core::UnfitDevice unfit("out of memory");
    EXPECT_THROW(devices_taken(DeviceKind::gpu, unfit), core::UnfitDevice);
    testing::internal::CaptureStderr();
    const int status = run_program("corr", [&]() -> int {
        return static_cast<int>(devices_taken(DeviceKind::gpu, unfit).size());
    });
    EXPECT_EQ(status, exit_internal);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "corr: error: out of memory\n");
}

TEST(DeviceChoice, DoesNotHideFaults) {
    EXPECT_THROW(devices_taken(DeviceKind::automatic, core::DeviceError("illegal address")),
                 core::DeviceError);
}

/// For each call of the work by `with_executor`: whether it ran on the GPU.
template <class Fault = std::nullptr_t>
std::vector<bool> gpus_taken(DeviceKind kind, [[maybe_unused]] Fault fault_of_gpu = {}) {
    std::vector<bool> taken;
    Console console("stap", false, true);
    core::Cpu cpu(1);
    with_executor({kind}, cpu, console, [&]<class Executor>(Executor&) {
        taken.push_back(is_gpu<Executor>);
        if constexpr (is_gpu<Executor> && !std::same_as<Fault, std::nullptr_t>) {
            throw fault_of_gpu;
        }
    });
    return taken;
}

TEST(DeviceChoice, NamesAGpuByItsNumber) {
    EXPECT_EQ(parse_device("auto"), DeviceChoice{});
    EXPECT_EQ(parse_device("cpu"), DeviceChoice{DeviceKind::cpu});
    EXPECT_EQ(parse_device("gpu"), (DeviceChoice{DeviceKind::gpu, 0}));
    EXPECT_EQ(parse_device("gpu:3"), (DeviceChoice{DeviceKind::gpu, 3}));
    for (const char* text :
         {"", "tpu", "gpu:", "gpu:-1", "gpu:x", "gpu:1.5", "gpu:99999", "gpu1"}) {
        EXPECT_THROW(parse_device(text), core::InvalidArgument) << text;
    }
}

TEST(WithExecutor, TakesTheCpuThatWasAskedForSilently) {
    testing::internal::CaptureStderr();
    EXPECT_THAT(gpus_taken(DeviceKind::cpu), testing::ElementsAre(false));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(WithExecutor, SaysWhichExecutorAnAutomaticChoiceTakes) {
    const core::GpuStatus status = core::gpu_status();
    testing::internal::CaptureStderr();
    EXPECT_THAT(gpus_taken(DeviceKind::automatic), testing::ElementsAre(status.usable));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              status.usable ? "stap: device: GPU 0\n"
                            : "stap: device: CPU (no usable GPU: " + status.reason + ")\n");
}

TEST(WithExecutor, FailsWhereTheGpuThatWasAskedForIsNotUsable) {
    if (core::gpu_status().usable) GTEST_SKIP() << "there is a usable GPU";
    EXPECT_THROW(gpus_taken(DeviceKind::gpu), core::DeviceError);
}

TEST(WithExecutor, BeginsAgainOnTheCpuWhereTheGpuIsUnfit) {
    if (const auto reason = aperture::tests::UsableGpu::why_not(); !reason.empty())
        GTEST_SKIP() << reason;
    const core::UnfitDevice unfit("out of memory");
    testing::internal::CaptureStderr();
    EXPECT_THAT(gpus_taken(DeviceKind::automatic, unfit), testing::ElementsAre(true, false));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "stap: device: GPU 0\nstap: warning: computing on the CPU: out of memory\n");
    EXPECT_THROW(gpus_taken(DeviceKind::gpu, unfit), core::UnfitDevice);
    EXPECT_THROW(gpus_taken(DeviceKind::automatic, core::DeviceError("illegal address")),
                 core::DeviceError);
}

}  // namespace
}  // namespace aperture::apps
