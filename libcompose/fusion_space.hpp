// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "aperture/compose/plan.hpp"
#include "libcompose/data_flow.hpp"

/// The ways to run a basic block's calls in kernels (Fousek, Filipovic & Madzin 2011, section 4;
/// docs/notes/planner.md).
namespace aperture::compose {

/// Calls of a basic block: bit i is call i, in the order of the program.
using CallSet = std::uint64_t;
inline constexpr std::size_t most_calls_of_space = 64;

inline constexpr CallSet only(int call) { return CallSet{1} << call; }

/// What a symbol holds until it is overwritten.
struct BlockValue {
    SymbolId symbol = 0;
    int maker = -1;            ///< the call that makes it; -1: it is from before the block
    CallSet readers = 0;       ///< calls
    bool lives = false;        ///< read after the block
    bool is_scalar = false;    ///< To read it twice costs nothing.
    double bytes = 0;          ///< in memory
    double bytes_on_chip = 0;  ///< of a problem, or an entry
};

/// What else counts of a call.
struct BlockCall {
    CallSet apart = 0;     ///< calls with which it must not be in one kernel
    double workspace = 0;  ///< bytes that it needs on chip besides its values
    int extents = -1;      ///< It is apart from those of others; -1 of scalars
    bool is_free = false;  ///< It may cost nothing: a copy, for which memory is exchanged.
};

/// The calls of a basic block and the order that their values demand.
class FusionSpace {
  public:
    /// Values of one symbol are in the order in which it holds them: each is made after the one
    /// before has been read. `fits`: what a set must fulfil that nothing keeps apart; parts of a
    /// set that fits do so, too.
    /// `is_whole`: whether a set can run without other calls.
    FusionSpace(
        std::vector<BlockCall> calls, std::vector<BlockValue> values,
        std::function<bool(CallSet)> fits = [](CallSet) { return true; },
        std::function<bool(CallSet)> is_whole = [](CallSet) { return true; });

    CallSet all() const { return all_; }
    const std::vector<BlockValue>& values() const { return values_; }
    /// Calls that must run before a call.
    CallSet before(int call) const { return before_[std::size_t(call)]; }

    /// Whether calls hang together by values: one makes what another one reads, or both read what
    /// is no scalar. Others save no transfers.
    bool is_connected(CallSet set) const;
    /// Whether calls can run in one kernel, perhaps with others.
    bool is_legal(CallSet set) const;
    /// Whether a legal set needs no others.
    bool is_whole(CallSet set) const { return is_whole_(set); }

    /// The symbols whose values are read when `done` has run: of those that the block has.
    SymbolSet live(CallSet done) const;

    /// Bytes on chip while the calls run in this order: values that were made or read before, or
    /// are now, and will be, or are (section 4.3.2).
    double bytes_on_chip(std::span<const int> order) const;
    /// The order of a legal set with the fewest: the best of sets of up to `most_ordered` calls,
    /// else one that takes what adds least.
    static constexpr int most_ordered = 12;
    std::vector<int> least_order(CallSet set) const;

    /// A kernel that begins when `done` has run: it has the calls of `in`, and none of `out`, nor
    /// those that must run after these. Calls in none of them are not decided on.
    struct Choice {
        CallSet done = 0, in = 0, out = 0;
    };
    /// Calls on which is to be decided next; 0 if there are none.
    CallSet candidates(const Choice& choice) const;
    Choice with(Choice choice, int call) const;
    Choice without(Choice choice, int call) const;

    /// What no cover is less than that goes on from a choice, of this kernel and all later ones.
    struct Least {
        double bytes = 0;  ///< to and from memory
        int kernels = 0;
    };
    Least least(const Choice& choice) const;

  private:
    void order_calls();
    void keep_apart_what_is_between();
    bool is_legal_in_pairs(CallSet set) const;
    double bytes_at(CallSet done, int call, CallSet set) const;
    int depth(CallSet set) const;
    int least_kernels(CallSet set) const;

    std::vector<BlockCall> calls_;
    std::vector<BlockValue> values_;
    std::function<bool(CallSet)> fits_, is_whole_;
    CallSet all_ = 0, free_ = 0;
    std::map<int, CallSet> of_extents_;
    std::vector<CallSet> overwriter_;  // of a value: the call that makes its symbol's next one
    std::vector<CallSet> before_, after_, neighbours_;
};

/// The space of calls after which `live` is read. Which sets are legal, KernelBuilder says; see
/// there for `tiles_from`. Refers to the program and the calls.
FusionSpace space_of(const Program& program, std::span<const PlannedCall* const> calls,
                     const SymbolSet& live, double tiles_from);

/// Kernels in an order in which they can run; each call is in one of them.
struct Cover {
    double cost = 0;
    std::vector<CallSet> kernels;
};

/// What kernels cost. `of_kernel(set, done)`: a set that runs when `done` has run. `at_least`: what
/// kernels do not cost less than that have so many bytes.
struct CoverCosts {
    std::function<double(CallSet, CallSet)> of_kernel;
    std::function<double(const FusionSpace::Least&)> at_least = [](const auto&) { return 0.0; };
};

struct Covers {
    std::vector<Cover> best;  ///< in the order of their costs
    bool exact = true;        ///< No others cost less.
};

/// The `count` covers that cost least; of sets that are connected, or of all. After `most_choices`
/// choices it is content with the best that it has met; as many calls in a row as are legal are one
/// of them. Source: section 4.3.3; instead of a binary linear program, the shortest paths among the
/// sets of calls that have run.
Covers best_covers(const FusionSpace& space, const CoverCosts& costs, std::size_t count,
                   bool connected = false, std::size_t most_choices = 20000);

}  // namespace aperture::compose
