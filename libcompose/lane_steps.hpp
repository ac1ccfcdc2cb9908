// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aperture/compose/sweep.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {

/// Whether a condition holds for the value in a place: `all[place * apart]`, 0 or 1.
struct Flags {
    const std::byte* all;
    index_t apart;
};

/// Walks through the steps of a program for several values, of which each goes its own way: where a
/// condition decides, values that go on are put into places before those that do not. So kernels
/// compute what is under way, and nothing else. Memory has
///     run(kernel, first, end)          computes the values in these places, or exchanges memory
///     store(variable, i, first, end)   i counts a loop of theirs
///     flags(condition, first, end)     Flags, of these places
///     swap(back, front)                exchanges what the values in places back[i], front[i] have
template <class Memory>
class LaneSteps {
  public:
    LaneSteps(const Program& program, Memory& memory, index_t count)
        : program_(program),
          memory_(memory),
          values_(std::size_t(count)),
          to_back_(values_.size() + 1),
          to_front_(values_.size() + 1),
          has_failed_(values_.size()) {
        std::iota(values_.begin(), values_.end(), index_t{0});
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
    index_t walk(const Kernel& kernel, index_t first, index_t end) {
        memory_.run(kernel, first, end);
        return end;
    }
    index_t walk(const Repeat& repeat, index_t first, index_t end) {
        index_t inside = end;
        const std::int64_t count = program_[repeat.loop->count].value;
        for (std::int64_t i = 0; i < count && inside > first; ++i) {
            memory_.store(repeat.loop->variable, i, first, inside);
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
        const auto [all, apart] = memory_.flags(condition, first, end);
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
        memory_.swap(std::span(to_back_).first(count), std::span(to_front_).first(count));
    }
    void fail(index_t first, index_t end, const std::string& message) {
        for (index_t place = first; place < end; ++place) {
            const index_t value = values_[std::size_t(place)];
            if (has_failed_[std::size_t(value)]) continue;
            has_failed_[std::size_t(value)] = true;
            failed_.push_back({value, message});
        }
    }

    const Program& program_;
    Memory& memory_;
    std::vector<index_t> values_;
    /// Places of values that change theirs, and one more.
    std::vector<index_t> to_back_, to_front_;
    std::vector<FailedValue> failed_;
    std::vector<bool> has_failed_;  ///< by numbers
};

}  // namespace aperture::compose
