// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "libcore/count_compilation.hpp"

namespace aperture::core {
namespace {

TEST(CompilationCounts, AreThoseOfAllThreads) {
    const CompilationCounts before = compilation_counts();
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([] {
                for (int i = 0; i < 1000; ++i) {
                    count_compilation({.compiled = 2, .from_cache = 1, .ms = 0.5});
                }
            });
        }
    }
    const CompilationCounts after = compilation_counts();
    EXPECT_EQ(after.compiled - before.compiled, 8000);
    EXPECT_EQ(after.from_cache - before.from_cache, 4000);
    EXPECT_EQ(after.ms - before.ms, 2000.0);
}

}  // namespace
}  // namespace aperture::core
