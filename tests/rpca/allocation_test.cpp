// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/rpca/online_pca.hpp"
#include "tests/stap/counted_new.hpp"

namespace aperture::rpca {
namespace {

/// How many frames of how many values are followed.
void expect_no_allocation(index_t values, int frames) {
    core::Cpu cpu(2);
    OnlinePca pca(cpu, values, {.rank = 4});
    core::Array<float, 2> first({3, values}), grounds({3, values});
    for (index_t i = 0; i < first.size(); ++i) first.data()[i] = static_cast<float>(i % 251);
    pca.begin(first.view(), grounds);
    std::vector<float> background(values), sparse(values);
    const OnlinePca::Frame frame(first.data(), {values});
    const auto next = [&] {
        pca.next(frame, {background.data(), {values}}, {sparse.data(), {values}});
    };
    next();
    const auto arrays = core::host_allocations();
    const long news = calls_of_new();
    for (int i = 0; i < frames; ++i) next();
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

TEST(OnlinePca, AllocatesNothingInTwoThousandFrames) { expect_no_allocation(4001, 2000); }
TEST(OnlinePca, AllocatesNothingWithSeveralThreads) { expect_no_allocation(1100000, 3); }

}  // namespace
}  // namespace aperture::rpca
