// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <exception>

#include "aperture/core/executor.hpp"

namespace aperture::tests {

/// Ends run() at its first checkpoint, and at later ones up to the last. Expects that a whole run
/// after each of these returns what the first run did. `cpu` must have one thread: between several
/// ones the number of checkpoints varies.
template <class Run>
void expect_same_after_ended_runs(core::Cpu& cpu, const Run& run) {
    struct Ended : std::exception {};
    int checkpoints = 0;
    cpu.set_checkpoint([&] { ++checkpoints; });
    const auto expected = run();
    EXPECT_GT(checkpoints, 0);
    for (int last = 1; last <= checkpoints; last += 1 + last / 2) {
        int passed = 0;
        cpu.set_checkpoint([&] {
            if (++passed == last) throw Ended();
        });
        EXPECT_THROW(run(), Ended) << "checkpoint " << last << " of " << checkpoints;
        cpu.set_checkpoint({});
        EXPECT_EQ(run(), expected) << "after an end at checkpoint " << last;
    }
}

}  // namespace aperture::tests
