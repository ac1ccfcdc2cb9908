// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/hoist.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "libcompose/check.hpp"
#include "libcompose/data_flow.hpp"
#include "libcompose/statements.hpp"

namespace aperture::compose {
namespace {

class Hoister {
  public:
    Hoister(Program program, const Registry& registry, std::span<const std::string> parameters)
        : program_(std::move(program)), calls_(check(program_, registry)) {
        for (const std::string& name : parameters) reached_.insert(program_.find(name));
        for (std::size_t before = 0; before != reached_.size();) {
            before = reached_.size();
            for (const auto& [call, planned] : calls_) {
                if (is_any(reached_, call->operands)) {
                    reached_.insert(call->results.begin(), call->results.end());
                }
            }
        }
    }

    Program run() {
        const std::vector<SymbolSet> live = live_before_statements(program_);
        Block all;
        for (std::size_t i = 0; i < live.size(); ++i) {
            Block loop(1);
            loop.front() = std::move(program_.statements[i]);
            if (body_of(loop.front()) != nullptr) {
                std::map<SymbolId, int> times_set;
                for_each_result(loop, [&](SymbolId id) { ++times_set[id]; });
                // A loop is no program's last statement.
                SymbolSet fixed = live[i];
                fixed.insert(live[i + 1].begin(), live[i + 1].end());
                std::vector<const Call*> invariant;
                find(*body_of(loop.front()), times_set, fixed, invariant);
                move(*body_of(loop.front()), worthwhile(invariant), all);
            }
            all.push_back(std::move(loop.front()));
        }
        program_.statements = std::move(all);
        return std::move(program_);
    }

  private:
    template <class Ids>
    static bool is_any(const SymbolSet& set, const Ids& ids) {
        return std::any_of(ids.begin(), ids.end(), [&](SymbolId id) { return set.count(id) > 0; });
    }
    /// Calls whose operands the loop does not set, or such calls do, and whose results nothing else
    /// sets. `fixed`: symbols whose values before or after the loop are read.
    void find(const Block& body, std::map<SymbolId, int>& times_set, const SymbolSet& fixed,
              std::vector<const Call*>& invariant) const {
        for (const Statement& statement : body) {
            if (const Block* const inner = body_of(statement)) {
                find(*inner, times_set, fixed, invariant);
            }
            const auto* const call = std::get_if<Call>(&statement.what);
            if (call == nullptr || is_any(reached_, call->operands) ||
                is_any(fixed, call->results)) {
                continue;
            }
            const auto is_set = [&](int times) {
                return [&, times](SymbolId id) {
                    const auto found = times_set.find(id);
                    return (found == times_set.end() ? 0 : found->second) == times;
                };
            };
            if (!std::all_of(call->operands.begin(), call->operands.end(), is_set(0)) ||
                !std::all_of(call->results.begin(), call->results.end(), is_set(1))) {
                continue;
            }
            for (const SymbolId id : call->results) times_set[id] = 0;
            invariant.push_back(call);
        }
    }
    /// Those of them that are worth their memory, with the calls whose results they read.
    std::set<const Call*> worthwhile(const std::vector<const Call*>& invariant) const {
        constexpr double flops_of_load = 8;
        std::set<const Call*> moved;
        SymbolSet read;
        std::for_each(invariant.rbegin(), invariant.rend(), [&](const Call* call) {
            const Match& match = calls_.at(call).match;
            const bool pays = match.level != Level::element || match.flops > flops_of_load;
            if (!pays && !is_any(read, call->results)) return;
            moved.insert(call);
            read.insert(call->operands.begin(), call->operands.end());
        });
        return moved;
    }
    static void move(Block& body, const std::set<const Call*>& moved, Block& to) {
        Block kept;
        for (Statement& statement : body) {
            if (Block* const inner = body_of(statement)) move(*inner, moved, to);
            const bool goes = moved.count(std::get_if<Call>(&statement.what)) > 0;
            (goes ? to : kept).push_back(std::move(statement));
        }
        body = std::move(kept);
    }

    Program program_;
    PlannedCalls calls_;
    SymbolSet reached_;
};

}  // namespace

Program hoisted(Program program, const Registry& registry,
                std::span<const std::string> parameters) {
    return Hoister(std::move(program), registry, parameters).run();
}

}  // namespace aperture::compose
