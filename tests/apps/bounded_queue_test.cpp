// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/bounded_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <vector>

namespace aperture::apps::tests {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::function<std::optional<int>()> counting_to(int last, std::atomic<int>& made) {
    return [last, &made]() -> std::optional<int> {
        if (made == last) return std::nullopt;
        return made++;
    };
}

/// Long enough for a thread to do what it must not do.
void give_others_time() { std::this_thread::sleep_for(20ms); }

TEST(ReadAhead, ReturnsEverythingInOrder) {
    for (const std::size_t room : {1U, 3U, 100U}) {
        std::atomic<int> made = 0;
        ReadAhead<int> numbers(room, counting_to(50, made));
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(numbers.next(), i);
        }
        EXPECT_EQ(numbers.next(), std::nullopt);
        EXPECT_EQ(numbers.next(), std::nullopt);
    }
}

TEST(ReadAhead, IsAheadByItsRoom) {
    std::atomic<int> made = 0;
    ReadAhead<int> numbers(3, counting_to(50, made));
    for (int taken = 0; taken < 3; ++taken) {
        while (made < 3 + taken) std::this_thread::yield();
        give_others_time();
        EXPECT_EQ(made, 3 + taken);
        EXPECT_EQ(numbers.next(), taken);
    }
}

TEST(ReadAhead, ThrowsAfterTheResultsBefore) {
    int made = 0;
    ReadAhead<std::unique_ptr<int>> numbers(8, [&]() -> std::optional<std::unique_ptr<int>> {
        if (made == 2) throw std::runtime_error("the third");
        return std::make_unique<int>(made++);
    });
    EXPECT_EQ(**numbers.next(), 0);
    EXPECT_EQ(**numbers.next(), 1);
    EXPECT_THROW(numbers.next(), std::runtime_error);
    EXPECT_THROW(numbers.next(), std::runtime_error);
}

TEST(ReadAhead, MayBeLeftBeforeTheEnd) {
    std::atomic<int> made = 0;
    ReadAhead<int> numbers(2, counting_to(1'000'000, made));
    EXPECT_EQ(numbers.next(), 0);
}

TEST(WorkerThread, DoesEverythingInOrderAndThenFinishes) {
    for (const std::size_t room : {1U, 7U}) {
        std::vector<int> done;
        Worker<int> worker(
            room, [&](int item) { done.push_back(item); }, [&] { done.push_back(-1); });
        for (int i = 0; i < 5; ++i) worker.give(i);
        worker.end();
        worker.wait();
        EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4, -1));
        worker.wait();
    }
}

TEST(WorkerThread, IsDrainedWhenItsWorkIsDone) {
    std::atomic<int> done = 0;
    Worker<int> worker(
        5,
        [&](int item) {
            std::this_thread::sleep_for(1ms);
            done += 1;
            if (item == 6) throw std::runtime_error("the last");
        },
        [] {});
    for (int i = 0; i < 5; ++i) worker.give(i);
    worker.drain();
    EXPECT_EQ(done, 5);
    worker.give(6);
    worker.drain();
    EXPECT_EQ(done, 6);
    EXPECT_THROW(worker.wait(), std::runtime_error);
}

TEST(WorkerThread, HoldsAsManyItemsAsItHasRoom) {
    const auto item = std::make_shared<int>(0);
    std::latch go(1);
    Worker<std::shared_ptr<int>> worker(
        2, [&](const auto&) { go.wait(); }, [] {});
    worker.give(item);
    worker.give(item);
    std::atomic<bool> given = false;
    std::jthread third([&] {
        worker.give(item);
        given = true;
    });
    give_others_time();
    EXPECT_FALSE(given);
    go.count_down();
    third.join();
    worker.end();
    worker.wait();
    EXPECT_EQ(item.use_count(), 1);
}

TEST(WorkerThread, ThrowsWhatItsWorkThrows) {
    bool finished = false;
    Worker<int> worker(
        1,
        [](int item) {
            if (item == 1) throw std::runtime_error("the second");
        },
        [&] { finished = true; });
    EXPECT_THROW(for (int i = 0; i < 10; ++i) worker.give(i), std::runtime_error);
    worker.end();
    EXPECT_THROW(worker.wait(), std::runtime_error);
    EXPECT_FALSE(finished);
}

TEST(WorkerThread, ThrowsWhatFinishingThrows) {
    Worker<int> worker(
        1, [](int) {}, [] { throw std::runtime_error("at the end"); });
    worker.give(0);
    worker.end();
    EXPECT_THROW(worker.wait(), std::runtime_error);
}

TEST(WorkerThread, AbandonsItsWorkIfItIsLeft) {
    std::vector<int> done;
    bool finished = false;
    std::latch go(1);
    std::jthread later([&] {
        give_others_time();
        go.count_down();
    });
    {
        Worker<int> worker(
            5,
            [&](int item) {
                go.wait();
                done.push_back(item);
            },
            [&] { finished = true; });
        for (int i = 0; i < 5; ++i) worker.give(i);
    }
    EXPECT_FALSE(finished);
    EXPECT_LE(done.size(), 1) << "the item in work";
}

}  // namespace
}  // namespace aperture::apps::tests
