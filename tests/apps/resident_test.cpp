// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/resident.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/usable_gpu.hpp"

namespace aperture::apps {
namespace {

/// Runs load, a step that overwrites the host's array, and store; returns the times.
template <class Executor>
RunTimes load_and_store(Executor& executor, core::Array<float, 2>& array) {
    Resident<Executor, float, 2> resident(executor);
    core::Timeline timeline;
    const auto load = [&] { resident.load(array); };
    const auto overwrite = [&] { std::fill(array.begin(), array.end(), 0.0F); };
    return run_resident(executor, timeline, load, overwrite, [&] { resident.store(); });
}

core::Array<float, 2> ones() {
    core::Array<float, 2> array({3, 5});
    std::fill(array.begin(), array.end(), 1.0F);
    return array;
}

TEST(ResidentOnTheCpu, IsTheHostsArray) {
    core::Cpu cpu(1);
    core::Array<float, 2> array = ones();
    Resident<core::Cpu, float, 2> resident(cpu, array);
    EXPECT_EQ(resident.view().data, array.data());
    EXPECT_EQ(load_and_store(cpu, array).transfer_ms, 0);
    EXPECT_EQ(std::count(array.begin(), array.end(), 0.0F), array.size());
}

#if APERTURE_CUDA
class ResidentOnAGpu : public aperture::tests::GpuTest {};

TEST_F(ResidentOnAGpu, IsACopy) {
    core::Gpu gpu;
    core::Array<float, 2> array = ones();
    EXPECT_GT(load_and_store(gpu, array).transfer_ms, 0);
    EXPECT_EQ(std::count(array.begin(), array.end(), 1.0F), array.size());
    core::Array<float, 2> empty({0, 5});
    Resident<core::Gpu, float, 2> resident(gpu, empty);
    resident.store();
    gpu.synchronize();
}
#endif

}  // namespace
}  // namespace aperture::apps
