// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "aperture/core/array.hpp"
#include "libcore/allocated_bytes.hpp"
#include "tests/allocation/counted_new.hpp"
#include "tests/rpca/workspace_cases.hpp"

namespace aperture::rpca {
namespace {

template <class T>
void expect_promised(index_t frames, index_t values, const Parameters& parameters) {
    // A new executor each time, because an executor keeps its scratch memory.
    core::Cpu cpu(2);
    using Pca = RobustPca<T, core::Cpu>;
    const auto bytes_of_run = [&](FramesView<const T, core::Host> m) {
        const auto arrays = core::host_bytes_allocated();
        const long news = bytes_of_new();
        Pca(cpu, frames, values, parameters).run(m, {}, {});
        return static_cast<index_t>(core::host_bytes_allocated() - arrays) + bytes_of_new() - news;
    };
    const WorkspaceBytes promised = Pca::workspace_bytes(cpu, frames, values, parameters);
    EXPECT_EQ(promised.device, 0);
    expect_promise<T>(promised, frames, values, parameters, bytes_of_run);
}

TEST(RobustPca, AllocatesWhatItPromises) {
    struct Shape {
        index_t frames;
        index_t values;
    };
    for (const auto [frames, values] :
         std::vector<Shape>{{1, 1}, {3, 700}, {12, 30001}, {65, 9001}}) {
        for (const Parameters& parameters : all_ways()) {
            expect_promised<float>(frames, values, parameters);
            expect_promised<double>(frames, values, parameters);
        }
    }
}

TEST(RobustPca, PromisesAllocatingNothing) {
    core::Cpu cpu(1);
    const auto arrays = core::host_bytes_allocated();
    for (const Parameters& parameters : all_ways()) {
        const auto promised =
            RobustPca<float, core::Cpu>::workspace_bytes(cpu, 500, 1000000, parameters);
        EXPECT_GT(promised.host, 500000000);
    }
    EXPECT_EQ(core::host_bytes_allocated(), arrays);
}

}  // namespace
}  // namespace aperture::rpca
