// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "apps/bgsub/output_files.hpp"

namespace aperture::apps {

/// Results that nobody uses any more, whose memory others take over.
class WrittenResults {
  public:
    /// Results that come back here after their last use. They may outlive this.
    std::shared_ptr<ResultFrames> take() {
        std::unique_ptr<ResultFrames> results = state_->take();
        if (!results) results = std::make_unique<ResultFrames>();
        return {results.release(), [state = state_](ResultFrames* used) { state->put(used); }};
    }

  private:
    struct State {
        std::mutex mutex;
        std::vector<std::unique_ptr<ResultFrames>> free;

        std::unique_ptr<ResultFrames> take() {
            const std::lock_guard lock(mutex);
            if (free.empty()) return nullptr;
            std::unique_ptr<ResultFrames> results = std::move(free.back());
            free.pop_back();
            return results;
        }
        void put(ResultFrames* results) {
            const std::lock_guard lock(mutex);
            free.emplace_back(results);
        }
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace aperture::apps
