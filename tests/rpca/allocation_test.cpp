// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/rpca/online_pca.hpp"
#include "tests/stap/counted_new.hpp"

namespace aperture::rpca {
namespace {

TEST(OnlinePca, AllocatesNothingInTwoThousandFrames) {
    // More than one thread works on frames as large.
    constexpr index_t values = 200000;
    core::Cpu cpu(2);
    OnlinePca pca(cpu, values, {});
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
    for (int i = 0; i < 2000; ++i) next();
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

}  // namespace
}  // namespace aperture::rpca
