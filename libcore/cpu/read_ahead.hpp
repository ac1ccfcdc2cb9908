// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "aperture/core/shape.hpp"

namespace aperture::core {

/// Prefetches memory line by line into the second-level cache, during other work.
class ReadAhead {
  public:
    /// `count` runs of `bytes` that begin `distance` bytes apart.
    struct Runs {
        const void* first = nullptr;
        index_t bytes = 0;
        index_t count = 1;
        index_t distance = 0;
    };

    ReadAhead() = default;
    explicit ReadAhead(const Runs& runs) : runs_(runs) { begin_run(); }
    ReadAhead(const Runs& runs, const Runs& then) : runs_(runs), then_(then) { begin_run(); }

    /// Prefetches the next line, if one is left.
    [[gnu::always_inline]] void prefetch_line() {
        if (lines_ == 0) return;
        __builtin_prefetch(at_, 0, 2);
        at_ += line;
        if (--lines_ == 0) next_run();
    }

  private:
    static constexpr index_t line = 64;

    void begin_run() {
        at_ = static_cast<const std::byte*>(runs_.first);
        lines_ = (runs_.bytes + line - 1) / line;
    }
    void next_run() {
        if (--runs_.count > 0) {
            runs_.first = static_cast<const std::byte*>(runs_.first) + runs_.distance;
        } else {
            runs_ = then_;
            then_ = {};
        }
        begin_run();
    }

    Runs runs_;
    Runs then_;
    const std::byte* at_ = nullptr;
    index_t lines_ = 0;
};

}  // namespace aperture::core
