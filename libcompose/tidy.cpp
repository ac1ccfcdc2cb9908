// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/tidy.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/statements.hpp"

namespace aperture::compose {
namespace {

template <class Action>
void for_each_block(Block& block, const Action& action) {
    for (Statement& statement : block) {
        if (Block* const body = body_of(statement)) {
            for_each_block(*body, action);
        } else if (auto* const branch = std::get_if<If>(&statement.what)) {
            for_each_block(branch->body, action);
            for_each_block(branch->otherwise, action);
        }
    }
    action(block);
}

class Tidy {
  public:
    Tidy(Program program, const Registry& registry, const std::set<SymbolId>& variables)
        : program_(std::move(program)), variables_(variables) {
        for_each_symbol(program_.statements, [&](SymbolId id) { ++uses_[id]; });
        for_each_block(program_.statements, [&](Block& block) { note_reads(block, registry); });
        for_each_block(program_.statements, [&](Block& block) {
            order(block);
            join_copies(block);
        });
        name_symbols();
    }
    Program take() { return std::move(program_); }

  private:
    void note_reads(const Block& block, const Registry& registry) {
        for (const Statement& statement : block) {
            const auto* const call = std::get_if<Call>(&statement.what);
            if (call == nullptr) continue;
            const Match match = registry.find(call->operation)->match({program_, *call});
            const bool by_place = match.level == Level::element || match.level == Level::sum;
            for (std::size_t i = 0; i < call->operands.size(); ++i) {
                if (!by_place || match.accesses[i].kind != Access::Kind::point) {
                    read_elsewhere_.insert(call->operands[i]);
                }
            }
        }
    }

    bool is_unnamed(SymbolId id) const { return program_[id].name.empty(); }

    /// Compilers differ in which operand of an expression they evaluate first. Between assignments
    /// to variables, any order computes the same in which results are set before they are read.
    void order(Block& block) const {
        Block ordered;
        Block row;
        for (Statement& statement : block) {
            const auto* const call = std::get_if<Call>(&statement.what);
            if (call != nullptr &&
                std::none_of(call->results.begin(), call->results.end(),
                             [&](SymbolId id) { return variables_.count(id) > 0; })) {
                row.push_back(std::move(statement));
                continue;
            }
            append_ordered(row, ordered);
            row.clear();
            ordered.push_back(std::move(statement));
        }
        append_ordered(row, ordered);
        block = std::move(ordered);
    }
    /// Before each call whose result has a name, or which no other of the row reads, its operands'
    /// calls from left to right.
    void append_ordered(const Block& row, Block& ordered) const {
        const auto call = [&](std::size_t i) -> const Call& { return std::get<Call>(row[i].what); };
        std::map<SymbolId, std::size_t> to_do;  // By results, the place in the row.
        std::set<SymbolId> read;
        for (std::size_t i = 0; i < row.size(); ++i) {
            for (const SymbolId id : call(i).results) to_do[id] = i;
            read.insert(call(i).operands.begin(), call(i).operands.end());
        }
        for (std::size_t last = 0; last < row.size(); ++last) {
            const auto& results = call(last).results;
            if (std::any_of(results.begin(), results.end(),
                            [&](SymbolId id) { return is_unnamed(id) && read.count(id) > 0; })) {
                continue;
            }
            std::vector<std::size_t> waiting{last};
            while (!waiting.empty()) {
                const std::size_t i = waiting.back();
                const auto& operands = call(i).operands;
                const auto first = std::find_if(operands.begin(), operands.end(),
                                                [&](SymbolId id) { return to_do.count(id) > 0; });
                if (first != operands.end()) {
                    waiting.push_back(to_do.at(*first));
                    continue;
                }
                waiting.pop_back();
                for (const SymbolId id : call(i).results) to_do.erase(id);
                ordered.push_back(row[i]);
            }
        }
    }

    /// f = operation(...); x = copy(f) becomes x = operation(...) if nothing else reads f. Copies
    /// to what neighbours read remain: a kernel that reads neighbours of x need not end before the
    /// operation, and buffers of f and x can be exchanged.
    void join_copies(Block& block) {
        Block joined;
        for (Statement& statement : block) {
            const auto* const copy = std::get_if<Call>(&statement.what);
            auto* const before = joined.empty() ? nullptr : std::get_if<Call>(&joined.back().what);
            if (copy == nullptr || before == nullptr || !joins(*copy, *before)) {
                joined.push_back(std::move(statement));
                continue;
            }
            std::replace(before->results.begin(), before->results.end(), copy->operands[0],
                         copy->results[0]);
            joined.back().where = statement.where;
        }
        block = std::move(joined);
    }
    bool joins(const Call& copy, const Call& before) const {
        if (copy.operation != "copy") return false;
        const SymbolId from = copy.operands[0], to = copy.results[0];
        const auto is_result = [&](SymbolId id) {
            return std::find(before.results.begin(), before.results.end(), id) !=
                   before.results.end();
        };
        constexpr int as_result_and_in_copy = 2;
        return is_result(from) && !is_result(to) && is_unnamed(from) &&
               uses_.at(from) == as_result_and_in_copy && read_elsewhere_.count(to) == 0;
    }

    /// Symbols without a name are named in the order of the text, or dropped if no statement has
    /// them.
    void name_symbols() {
        std::vector<SymbolId> kept;
        std::set<std::string, std::less<>> names;
        for (std::size_t i = 0; i < program_.symbols.size(); ++i) {
            if (is_unnamed(static_cast<SymbolId>(i))) continue;
            kept.push_back(static_cast<SymbolId>(i));
            names.insert(program_.symbols[i].name);
        }
        const auto named = static_cast<std::ptrdiff_t>(kept.size());
        std::set<SymbolId> found(kept.begin(), kept.end());
        for_each_symbol(program_.statements, [&](SymbolId id) {
            if (found.insert(id).second) kept.push_back(id);
        });
        std::stable_partition(kept.begin() + named, kept.end(),
                              [&](SymbolId id) { return program_[id].source == Source::known; });

        std::vector<Symbol> symbols;
        std::vector<SymbolId> now(program_.symbols.size());
        std::map<char, int> numbers;
        for (const SymbolId id : kept) {
            Symbol symbol = program_[id];
            const char letter = symbol.source == Source::known        ? 'c'
                                : symbol.type.kind == Kind::iteration ? 'i'
                                                                      : 'f';
            while (symbol.name.empty()) {
                const std::string name = core::text(letter, ++numbers[letter]);
                if (names.count(name) == 0 && !dtype_named(name)) symbol.name = name;
            }
            now[static_cast<std::size_t>(id)] = static_cast<SymbolId>(symbols.size());
            symbols.push_back(std::move(symbol));
        }
        program_.symbols = std::move(symbols);
        for_each_symbol(program_.statements,
                        [&](SymbolId& id) { id = now[static_cast<std::size_t>(id)]; });
    }

    Program program_;
    const std::set<SymbolId>& variables_;
    std::map<SymbolId, int> uses_;
    std::set<SymbolId> read_elsewhere_;  ///< by operations that read other places than they write
};

}  // namespace

Program tidied(Program program, const Registry& registry, const std::set<SymbolId>& variables) {
    return Tidy(std::move(program), registry, variables).take();
}

}  // namespace aperture::compose
