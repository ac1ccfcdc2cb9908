// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>

#include "aperture/core/timing.hpp"

namespace aperture::core {

/// A pair of events around a stage in a GPU's stream; implemented in builds with CUDA.
class StageEvents {
  public:
    virtual ~StageEvents() = default;
    virtual void stop(Gpu& gpu) noexcept = 0;
    virtual double milliseconds() = 0;
};

struct StageRecord {
    Stage stage;
    Stopwatch watch;
    bool on_gpu = false;
    std::unique_ptr<StageEvents> events;
};

struct Timeline::State {
    std::deque<StageRecord> records;
    std::size_t used = 0;

    /// Records are reused from run to run, and their events with them.
    StageRecord& begin(const char* name, double gflop, double mb) {
        if (used == records.size()) records.emplace_back();
        StageRecord& record = records[used++];
        record.stage.name = name;
        record.stage.gflop = gflop;
        record.stage.mb = mb;
        record.on_gpu = false;
        return record;
    }
    StageRecord& current() { return records[used - 1]; }
};

}  // namespace aperture::core
