// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/timing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace aperture::core {
namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Timeline, AddsUpStagesOfOneName) {
    Cpu cpu(1);
    Timeline timeline;
    for (int run = 0; run < 2; ++run) {
        timeline.begin_run();
        for (int chunk = 0; chunk < 2; ++chunk) {
            {
                const auto stage = Timeline::stage(&timeline, cpu, "doppler", 1.5, 2.0);
                sleep_ms(4);
            }
            const auto stage = Timeline::stage(&timeline, cpu, "adaptive", 1.0, 1.0);
            sleep_ms(1);
        }
        const std::vector<Stage> stages = timeline.stages();
        ASSERT_EQ(stages.size(), 2u);
        EXPECT_EQ(stages[0].name, "doppler");
        EXPECT_GE(stages[0].ms, 8);
        EXPECT_DOUBLE_EQ(stages[0].gflop, 3.0);
        EXPECT_DOUBLE_EQ(stages[0].mb, 4.0);
        EXPECT_EQ(stages[1].name, "adaptive");
        EXPECT_GE(stages[1].ms, 2);
    }
}

}  // namespace
}  // namespace aperture::core
