// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/timing.hpp"

#include <algorithm>

#include "libcore/timeline_state.hpp"

namespace aperture::core {

Timeline::Timeline() : state_(std::make_unique<State>()) {}
Timeline::~Timeline() = default;

void Timeline::begin_run() { state_->used = 0; }

Timeline::Scope Timeline::stage(Timeline* timeline, Cpu&, const char* name, double gflop,
                                double mb) {
    if (timeline == nullptr) return Scope(nullptr, nullptr);
    StageRecord& record = timeline->state_->begin(name, gflop, mb);
    record.watch.reset();
    return Scope(timeline, nullptr);
}

Timeline::Scope::~Scope() {
    if (timeline_ == nullptr) return;
    StageRecord& record = timeline_->state_->current();
    if (gpu_ != nullptr) {
        record.events->stop(*gpu_);
    } else {
        record.stage.ms = record.watch.ms();
    }
}

std::vector<Stage> Timeline::stages() {
    std::vector<Stage> merged;
    for (std::size_t i = 0; i < state_->used; ++i) {
        StageRecord& record = state_->records[i];
        if (record.on_gpu) record.stage.ms = record.events->milliseconds();
        const auto same = std::find_if(merged.begin(), merged.end(), [&](const Stage& stage) {
            return stage.name == record.stage.name;
        });
        if (same == merged.end()) {
            merged.push_back(record.stage);
        } else {
            same->ms += record.stage.ms;
            same->gflop += record.stage.gflop;
            same->mb += record.stage.mb;
        }
    }
    return merged;
}

}  // namespace aperture::core
