// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/in_flight.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libcore/gpu/device_budget.hpp"
#include "libcore/gpu/mirrored_array.hpp"

namespace aperture::core {
namespace {

std::string order_of(int pieces, int slots) {
    std::string order;
    std::vector<char> names;
    for (int i = 0; i < slots; ++i) names.push_back(static_cast<char>('a' + i));
    std::vector<int> numbers;
    for (int i = 0; i < pieces; ++i) numbers.push_back(i);
    keep_in_flight(
        names, numbers, [&](char slot, int piece) { order += slot + std::to_string(piece) + ' '; },
        [&](char slot) { order += std::string("finish-") + slot + ' '; });
    return order;
}

TEST(InFlight, StartsPiecesInOrderAndFinishesEachOnce) {
    EXPECT_EQ(order_of(5, 2), "a0 b1 finish-a a2 finish-b b3 finish-a a4 finish-b finish-a ");
    EXPECT_EQ(order_of(2, 1), "a0 finish-a a1 finish-a ");
    EXPECT_EQ(order_of(2, 3), "a0 b1 finish-a finish-b ");
    EXPECT_EQ(order_of(0, 3), "");
}

TEST(DeviceBudget, SaysWhoseFaultTooFewBytesAre) {
    EXPECT_NO_THROW((DeviceBudget{10, true}.expects(true, "a piece", 5)));
    EXPECT_THROW((DeviceBudget{10, true}.expects(false, "a piece", 11)), InvalidArgument);
    EXPECT_THROW((DeviceBudget{10, false}.expects(false, "a piece", 11)), UnfitDevice);
}

/// An executor that records its calls.
struct Recorder {
    using Space = Host;
    std::vector<std::string> calls;
    void synchronize() { calls.emplace_back("wait"); }
    void finish() noexcept { calls.emplace_back("finish"); }
};

TEST(MirroredArrays, WaitForCopiesBeforeTheirMemoryGoes) {
    Recorder recorder;
    {
        MirroredArray<float, 1, Recorder> array(recorder);
        array.reshape({5});
        recorder.calls.clear();
        array.reshape({4});
        EXPECT_TRUE(recorder.calls.empty());
        array.reshape({6});
        EXPECT_EQ(recorder.calls.front(), "wait");
        recorder.calls.clear();
    }
    EXPECT_EQ(recorder.calls, (std::vector<std::string>{"finish"}));
}

TEST(MirroredArrays, CopyThereAndBack) {
    Recorder recorder;
    MirroredArray<int, 2, Recorder> array(recorder);
    array.reshape({2, 3});
    for (index_t i = 0; i < 6; ++i) array.host()(i / 3, i % 3) = static_cast<int>(i);
    array.to_device();
    EXPECT_EQ(array.device()(1, 2), 5);
    array.device()(0, 1) = 7;
    EXPECT_EQ(array.host()(0, 1), 1);
    array.to_host();
    EXPECT_EQ(array.host()(0, 1), 7);
}

}  // namespace
}  // namespace aperture::core
