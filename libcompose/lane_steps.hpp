// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libcompose/memory.hpp"

namespace aperture::compose {

/// Walks through the steps of a program for several values, of which each goes its own way: where a
/// condition decides, values that go on are put in front of those that do not, with all that they
/// have in memory. So kernels compute what is under way, and nothing else. `run(kernel, first,
/// end)` computes the values in these places.
template <class RunKernel>
class LaneSteps {
  public:
    /// `bytes`: of a value in each symbol's memory; 0 of symbols that all values share.
    LaneSteps(const Program& program, const HostMemory& memory, const std::vector<index_t>& bytes,
              index_t count, const RunKernel& run)
        : program_(program),
          memory_(memory),
          bytes_(bytes),
          values_(std::size_t(count)),
          to_back_(values_.size() + 1),
          to_front_(values_.size() + 1),
          run_(run) {
        std::iota(values_.begin(), values_.end(), index_t{0});
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] > 0) own_.push_back({at(SymbolId(i), 0), bytes[i]});
        }
    }

    /// Of the values in places `first` to `end` - 1, those that reach the end of the steps are in
    /// places before the one that is returned; the others left the innermost loop.
    index_t walk(const std::vector<Step>& steps, index_t first, index_t end) {
        for (const Step& step : steps) {
            if (first == end) break;
            end = std::visit([&](const auto& what) { return walk(what, first, end); }, step.what);
        }
        return end;
    }

    /// The numbers of the values in their places.
    const std::vector<index_t>& values() const { return values_; }
    const std::vector<FailedValue>& failed() const { return failed_; }

  private:
    std::byte* at(SymbolId id, index_t place) const {
        return static_cast<std::byte*>(memory_.of(id)) + place * bytes_[std::size_t(id)];
    }

    index_t walk(const Kernel& kernel, index_t first, index_t end) {
        if (!kernel.exchanges) {
            run_(kernel, first, end);
            return end;
        }
        // Not all values exchange their memory.
        for (const PlannedCall& planned : kernel.calls) {
            const SymbolId to = planned.call->results[0], from = planned.call->operands[0];
            const index_t of_value = bytes_[std::size_t(to)];
            const index_t bytes =
                of_value > 0 ? (end - first) * of_value : program_[to].type.bytes();
            std::memcpy(at(to, first), at(from, first), std::size_t(bytes));
        }
        return end;
    }
    index_t walk(const Repeat& repeat, index_t first, index_t end) {
        index_t inside = end;
        const std::int64_t count = program_[repeat.loop->count].value;
        for (std::int64_t i = 0; i < count && inside > first; ++i) {
            memory_.store(repeat.loop->variable, i);
            inside = walk(repeat.body, first, inside);
        }
        return end;
    }
    index_t walk(const RepeatWhile& repeat, index_t first, index_t end) {
        const auto& [condition, limit, body] = *repeat.loop;
        index_t inside = put_first(condition, first, end);
        for (std::int64_t times = 0; inside > first; ++times) {
            if (times == limit) {
                fail(first, inside, core::text("a loop did not end after ", limit, " times"));
                break;
            }
            inside = walk(repeat.body, first, inside);
            inside = put_first(condition, first, inside);
        }
        return end;
    }
    index_t walk(const Branch& branch, index_t first, index_t end) {
        const index_t middle = put_first(branch.branch->condition, first, end);
        const index_t go_on = walk(branch.body, first, middle);
        const index_t others = walk(branch.otherwise, middle, end);
        // Behind those of the body that go on come the others that do.
        const index_t left = middle - go_on, added = others - middle;
        const index_t moved = std::min(left, added);
        for (index_t i = 0; i < moved; ++i) {
            to_back_[std::size_t(i)] = go_on + i;
            to_front_[std::size_t(i)] = others - 1 - i;
        }
        swap_places(std::size_t(moved));
        return go_on + added;
    }
    index_t walk(const Break&, index_t first, index_t) { return first; }

    /// Puts the values for which a condition holds before the others; returns the first place of
    /// these.
    index_t put_first(SymbolId condition, index_t first, index_t end) {
        const std::byte* const all = at(condition, 0);
        const index_t apart = bytes_[std::size_t(condition)];
        if (apart != 1) return put_first(all, apart, first, end);
        return put_first(all, std::integral_constant<index_t, 1>(), first, end);
    }
    template <class Apart>
    index_t put_first(const std::byte* all, Apart apart, index_t first, index_t end) {
        index_t middle = first;
        for (index_t place = first; place < end; ++place) middle += index_t(all[place * apart]);
        if (middle == end) return end;
        collect(to_back_, all, apart, first, middle, std::byte{0});
        swap_places(collect(to_front_, all, apart, middle, end, std::byte{1}));
        return middle;
    }
    /// The places of such conditions, and how many there are. Without branches, which processors
    /// would foresee badly.
    template <class Apart>
    static std::size_t collect(std::vector<index_t>& places, const std::byte* all, Apart apart,
                               index_t from, index_t to, std::byte wanted) {
        std::size_t count = 0;
        for (index_t place = from; place < to; ++place) {
            places[count] = place;
            count += all[place * apart] == wanted ? 1 : 0;
        }
        return count;
    }
    /// The values in the first `count` places of `to_back_` and `to_front_`.
    void swap_places(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            std::swap(values_[std::size_t(to_back_[i])], values_[std::size_t(to_front_[i])]);
        }
        for (const Own& of : own_) {
            // Most have one number.
            if (of.bytes == sizeof(bool)) {
                swap_numbers<sizeof(bool)>(of.data, count);
            } else if (of.bytes == sizeof(float)) {
                swap_numbers<sizeof(float)>(of.data, count);
            } else if (of.bytes == sizeof(double)) {
                swap_numbers<sizeof(double)>(of.data, count);
            } else {
                for (std::size_t i = 0; i < count; ++i) {
                    std::byte* const x = of.data + to_back_[i] * of.bytes;
                    std::swap_ranges(x, x + of.bytes, of.data + to_front_[i] * of.bytes);
                }
            }
        }
    }
    template <std::size_t bytes>
    void swap_numbers(std::byte* all, std::size_t count) const {
        std::array<std::byte, bytes> x, y;
        for (std::size_t i = 0; i < count; ++i) {
            std::byte* const back = all + to_back_[i] * index_t(bytes);
            std::byte* const front = all + to_front_[i] * index_t(bytes);
            std::memcpy(&x, back, bytes);
            std::memcpy(&y, front, bytes);
            std::memcpy(back, &y, bytes);
            std::memcpy(front, &x, bytes);
        }
    }
    void fail(index_t first, index_t end, const std::string& message) {
        for (index_t place = first; place < end; ++place) {
            const index_t value = values_[std::size_t(place)];
            const auto is_same = [&](const FailedValue& one) { return one.number == value; };
            if (std::any_of(failed_.begin(), failed_.end(), is_same)) continue;
            failed_.push_back({value, message});
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
    std::vector<Own> own_;
    std::vector<index_t> values_;
    /// Places of values that change theirs, and one more.
    std::vector<index_t> to_back_, to_front_;
    std::vector<FailedValue> failed_;
    const RunKernel& run_;
};

}  // namespace aperture::compose
