// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "aperture/compose/plan.hpp"

namespace aperture::compose {

/// A kernel of one call at device level, prepared for an executor.
template <class Executor>
class LibraryCall {
  public:
    LibraryCall(Executor& executor, const Program& program, const PlannedCall& planned)
        : site_(new CallSite{program, *planned.call}),
          call_(planned.operation->prepare(executor, *site_)) {}

    /// `memory_of(id)`: where a symbol lies now.
    template <class MemoryOf>
    void run(Executor& executor, const MemoryOf& memory_of) const {
        std::array<const void*, most_operands> operands{};
        std::array<void*, most_operands> results{};
        const Call& call = site_->call;
        for (std::size_t i = 0; i < call.operands.size(); ++i) {
            operands[i] = memory_of(call.operands[i]);
        }
        for (std::size_t i = 0; i < call.results.size(); ++i) {
            results[i] = memory_of(call.results[i]);
        }
        call_->run(executor, std::span(operands).first(call.operands.size()),
                   std::span(results).first(call.results.size()));
    }

  private:
    std::unique_ptr<CallSite> site_;
    std::unique_ptr<DeviceCall<Executor>> call_;
};

}  // namespace aperture::compose
