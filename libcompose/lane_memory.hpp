// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "libcompose/lane_steps.hpp"
#include "libcompose/memory.hpp"

namespace aperture::compose {

/// Memory of a widened program on a CPU, as LaneSteps sees it: values' numbers are next to each
/// other, in the order of places. `run(kernel, first, end)` computes a kernel.
template <class RunKernel>
class LaneMemory {
  public:
    /// `bytes`: of a value in each symbol's memory; 0 of symbols that all values share.
    LaneMemory(const Program& program, const HostMemory& memory, const std::vector<index_t>& bytes,
               const RunKernel& run)
        : program_(program), memory_(memory), bytes_(bytes), run_(run) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] > 0) own_.push_back({at(SymbolId(i), 0), bytes[i]});
        }
    }

    void run(const Kernel& kernel, index_t first, index_t end) const {
        if (!kernel.exchanges) return run_(kernel, first, end);
        // Not all values exchange their memory.
        for (const PlannedCall& planned : kernel.calls) {
            const SymbolId to = planned.call->results[0], from = planned.call->operands[0];
            const index_t of_value = bytes_[std::size_t(to)];
            const index_t bytes =
                of_value > 0 ? (end - first) * of_value : program_[to].type.bytes();
            std::memcpy(at(to, first), at(from, first), std::size_t(bytes));
        }
    }
    void store(SymbolId variable, std::int64_t i, index_t, index_t) const {
        memory_.store(variable, i);
    }
    Flags flags(SymbolId condition, index_t, index_t) const {
        return {at(condition, 0), bytes_[std::size_t(condition)]};
    }
    void swap(std::span<const index_t> back, std::span<const index_t> front) const {
        for (const Own& of : own_) {
            // Most have one number.
            if (of.bytes == sizeof(bool)) {
                swap_numbers<sizeof(bool)>(of.data, back, front);
            } else if (of.bytes == sizeof(float)) {
                swap_numbers<sizeof(float)>(of.data, back, front);
            } else if (of.bytes == sizeof(double)) {
                swap_numbers<sizeof(double)>(of.data, back, front);
            } else {
                for (std::size_t i = 0; i < back.size(); ++i) {
                    std::byte* const x = of.data + back[i] * of.bytes;
                    std::swap_ranges(x, x + of.bytes, of.data + front[i] * of.bytes);
                }
            }
        }
    }

  private:
    std::byte* at(SymbolId id, index_t place) const {
        return static_cast<std::byte*>(memory_.of(id)) + place * bytes_[std::size_t(id)];
    }
    template <std::size_t bytes>
    static void swap_numbers(std::byte* all, std::span<const index_t> back,
                             std::span<const index_t> front) {
        std::array<std::byte, bytes> x, y;
        for (std::size_t i = 0; i < back.size(); ++i) {
            std::byte* const at_back = all + back[i] * index_t(bytes);
            std::byte* const at_front = all + front[i] * index_t(bytes);
            std::memcpy(&x, at_back, bytes);
            std::memcpy(&y, at_front, bytes);
            std::memcpy(at_back, &y, bytes);
            std::memcpy(at_front, &x, bytes);
        }
    }

    /// Memory of a symbol, of which each value has so many bytes.
    struct Own {
        std::byte* data;
        index_t bytes;
    };

    const Program& program_;
    const HostMemory& memory_;
    const std::vector<index_t>& bytes_;
    const RunKernel& run_;
    std::vector<Own> own_;
};

}  // namespace aperture::compose
