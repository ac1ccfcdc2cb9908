// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/once_per_key.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace aperture::core {
namespace {

using namespace std::chrono_literals;
using Values = OncePerKey<int, std::string>;

TEST(OncePerKey, MakesAValueOnce) {
    Values values;
    std::atomic<int> made = 0;
    std::vector<const std::string*> found(8);
    {
        std::vector<std::jthread> threads;
        for (const std::string*& its : found) {
            threads.emplace_back([&] {
                its = &values.get(1, [&] {
                    ++made;
                    std::this_thread::sleep_for(20ms);
                    return std::string("one");
                });
            });
        }
    }
    EXPECT_EQ(made, 1);
    for (const std::string* its : found) EXPECT_EQ(its, found[0]);
    EXPECT_EQ(values.get(2, [] { return "two"; }), "two");
    EXPECT_EQ(*found[0], "one") << "stays where it is";
}

TEST(OncePerKey, MakesDifferentValuesAtTheSameTime) {
    Values values;
    std::promise<void> begun[2];
    std::vector<std::jthread> threads;
    for (const int key : {0, 1}) {
        threads.emplace_back([&, key] {
            values.get(key, [&] {
                begun[key].set_value();
                // Ends when the other one has begun, too.
                EXPECT_EQ(begun[1 - key].get_future().wait_for(10s), std::future_status::ready);
                return std::to_string(key);
            });
        });
    }
}

TEST(OncePerKey, TriesAgainAfterAnException) {
    Values values;
    std::atomic<int> made = 0, caught = 0;
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&] {
                try {
                    values.get(1, [&]() -> std::string {
                        ++made;
                        std::this_thread::sleep_for(20ms);
                        throw std::runtime_error("broken");
                    });
                } catch (const std::runtime_error& error) {
                    EXPECT_STREQ(error.what(), "broken");
                    ++caught;
                }
            });
        }
    }
    EXPECT_GE(made, 1);
    EXPECT_EQ(caught, 4) << "those who wait, too";
    EXPECT_EQ(values.get(1, [] { return "whole"; }), "whole");
    EXPECT_EQ(values.get(1, [] { return "another"; }), "whole");
}

}  // namespace
}  // namespace aperture::core
