// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/check.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

class Checker {
  public:
    Checker(const Program& program, const Registry& registry)
        : program_(program), registry_(registry) {
        for (std::size_t i = 0; i < program.symbols.size(); ++i) {
            if (program.symbols[i].source != Source::local) set_.insert(static_cast<SymbolId>(i));
        }
    }

    PlannedCalls check() {
        for (const Symbol& symbol : program_.symbols) at(symbol.where, [&] { check(symbol); });
        const Block& all = program_.statements;
        at(all.empty() ? Location{} : all.back().where, [&] {
            core::expects(!all.empty() && std::holds_alternative<Return>(all.back().what),
                          "a program must end with return");
        });
        check(all, 0);
        return std::move(calls_);
    }

  private:
    /// Adds line and column to the message of an error.
    template <class Action>
    static void at(Location where, const Action& action) {
        try {
            action();
        } catch (const core::InvalidArgument& error) {
            if (where.line == 0) throw;
            const std::string column =
                where.column == 0 ? "" : core::text(", column ", where.column);
            throw core::InvalidArgument(
                core::text("line ", where.line, column, ": ", error.what()));
        }
    }

    static void check(const Symbol& symbol) {
        const Type& type = symbol.type;
        if (type.kind == Kind::iteration) {
            core::expects(type.dtype == Dtype::i64 && symbol.source == Source::local, symbol.name,
                          " is of type ", text_of(type), "; expected a local iteration i64");
        }
        if (type.kind == Kind::scalar && symbol.source == Source::known) {
            expects_finite(symbol.number, symbol);
        }
        for (const double weight : symbol.stencil.weights) expects_finite(weight, symbol);
        for (const Offset& offset : symbol.stencil.offsets) {
            const Offset& first = symbol.stencil.offsets.front();
            core::expects(offset.rank == first.rank, symbol.name, " has offsets ", text_of(first),
                          " and ", text_of(offset), ", of arrays of different ranks");
        }
        const bool has_diagonals =
            type.kind == Kind::diagonals || type.kind == Kind::image_diagonals;
        const auto offsets = static_cast<index_t>(symbol.offsets.size());
        core::expects(offsets == (has_diagonals ? type.extent[0] : 0), symbol.name, " is of type ",
                      text_of(type), " at ", offsets, " offsets");
    }
    static void expects_finite(double number, const Symbol& symbol) {
        const bool single = symbol.type.dtype == Dtype::f32;
        core::expects(std::isfinite(single ? static_cast<float>(number) : number), symbol.name,
                      " has a number that is not finite in ", name_of(symbol.type.dtype));
    }

    void check(const Block& block, int loops) {
        for (const Statement& statement : block) {
            // Statements of inner blocks have their own places.
            if (const auto* loop = std::get_if<Loop>(&statement.what)) {
                at(statement.where, [&] { check_head(*loop); });
                counting_.insert(loop->variable);
                if (program_[loop->count].value > 0 && !leaves(loop->body)) {
                    check(loop->body, loops + 1);
                } else {
                    inside(loop->body, loops + 1);
                }
                counting_.erase(loop->variable);
            } else if (const auto* repeated = std::get_if<While>(&statement.what)) {
                at(statement.where, [&] { check_head(*repeated); });
                inside(repeated->body, loops + 1);
            } else if (const auto* branch = std::get_if<If>(&statement.what)) {
                at(statement.where, [&] { expects_condition(branch->condition); });
                inside(branch->body, loops);
                inside(branch->otherwise, loops);
            } else {
                at(statement.where, [&] { check_simple(statement, loops); });
            }
        }
    }
    /// What a block sets that may not run has no value after it.
    void inside(const Block& block, int loops) {
        const std::set<SymbolId> before = set_;
        check(block, loops);
        set_ = before;
    }

    /// Whether a break in the block, or in a branch of it, can leave its loop.
    static bool leaves(const Block& block) {
        return std::any_of(block.begin(), block.end(), [](const Statement& statement) {
            const auto* const branch = std::get_if<If>(&statement.what);
            return std::holds_alternative<Break>(statement.what) ||
                   (branch != nullptr && (leaves(branch->body) || leaves(branch->otherwise)));
        });
    }

    void check_head(const Loop& loop) {
        const Symbol& variable = program_[loop.variable];
        core::expects(variable.type.kind == Kind::iteration, variable.name,
                      " must be an iteration i64 to count a loop");
        core::expects(counting_.count(loop.variable) == 0, variable.name,
                      " counts an outer loop, too");
        const Symbol& count = program_[loop.count];
        core::expects(count.type.kind == Kind::constant, "a loop runs a constant number of times; ",
                      count.name, " is of type ", text_of(count.type));
        core::expects(count.value >= 0, count.name, " is ", count.value);
        set_.insert(loop.variable);
    }
    void check_head(const While& loop) {
        expects_condition(loop.condition);
        core::expects(loop.limit >= 1, "the limit of a loop is ", loop.limit);
        core::expects(sets(loop.body, loop.condition), "nothing in the loop sets ",
                      program_[loop.condition].name, ": it would not end");
    }
    static bool sets(const Block& block, SymbolId id) {
        return std::any_of(block.begin(), block.end(), [&](const Statement& statement) {
            const auto* const call = std::get_if<Call>(&statement.what);
            return (call != nullptr && std::find(call->results.begin(), call->results.end(), id) !=
                                           call->results.end()) ||
                   std::holds_alternative<Break>(statement.what);
        });
    }
    void expects_condition(SymbolId id) {
        expects_value(id);
        const Type& type = program_[id].type;
        const bool is_of_lanes = program_.has_own_ways && type.dtype == Dtype::boolean;
        core::expects(is_of_lanes || type == scalar(Dtype::boolean), program_[id].name,
                      " is of type ", text_of(type), ", not a scalar bool");
    }
    void expects_value(SymbolId id) const {
        const Symbol& symbol = program_[id];
        core::expects(
            set_.count(id) > 0, symbol.name, " has no value here",
            symbol.where.line == 0 ? "" : core::text("; it is of line ", symbol.where.line));
    }

    void check_simple(const Statement& statement, int loops) {
        if (const auto* call = std::get_if<Call>(&statement.what)) {
            check_call(*call);
        } else if (std::holds_alternative<Break>(statement.what)) {
            core::expects(loops > 0, "break outside of a loop");
        } else if (const auto* result = std::get_if<Return>(&statement.what)) {
            core::expects(&statement == &program_.statements.back(),
                          "return must be the last statement of a program");
            for (const SymbolId id : result->values) {
                expects_value(id);
                core::expects(program_[id].source != Source::known &&
                                  program_[id].type.kind != Kind::iteration,
                              program_[id].name, " cannot be returned; copy it to a scalar");
            }
        }
    }
    void check_call(const Call& call) {
        for (const SymbolId id : call.operands) expects_value(id);
        core::expects(std::max(call.operands.size(), call.results.size()) <= most_operands,
                      call.operation, " has more than ", most_operands, " operands or results");
        const auto& operation = registry_.find(call.operation);
        Match match = operation->match({program_, call});
        core::expects(match.results.size() == call.results.size(), call.operation, " has ",
                      match.results.size(), " results, not ", call.results.size());
        for (std::size_t i = 0; i < call.results.size(); ++i) {
            const SymbolId id = call.results[i];
            const Symbol& result = program_[id];
            core::expects(result.source == Source::local || result.source == Source::in_place,
                          result.name, " cannot be overwritten");
            core::expects(result.type == match.results[i], result.name, " is of type ",
                          text_of(result.type), "; ", call.operation, " makes ",
                          text_of(match.results[i]));
            core::expects(std::count(call.results.begin(), call.results.end(), id) == 1,
                          result.name, " is two results");
            for (std::size_t k = 0; k < call.operands.size(); ++k) {
                core::expects(call.operands[k] != id ||
                                  (match.accesses[k].kind == Access::Kind::point &&
                                   (match.level == Level::element || match.level == Level::block)),
                              call.operation, " reads other entries of ", result.name,
                              ", which it must not overwrite");
            }
            set_.insert(id);
        }
        calls_.emplace(&call, PlannedCall{&call, std::move(match), operation});
    }

    const Program& program_;
    const Registry& registry_;
    std::set<SymbolId> set_;
    std::set<SymbolId> counting_;  // of loops around
    PlannedCalls calls_;
};

}  // namespace

PlannedCalls check(const Program& program, const Registry& registry) {
    return Checker(program, registry).check();
}

}  // namespace aperture::compose
