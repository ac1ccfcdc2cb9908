// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/sweep_programs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "aperture/core/error.hpp"
#include "libcompose/check.hpp"
#include "libcompose/data_flow.hpp"
#include "libcompose/hoist.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/statements.hpp"

namespace aperture::compose {
namespace {

using core::expects;

/// Symbols that statements set.
SymbolSet results_of(const Block& block) {
    SymbolSet results;
    for_each_result(block, [&](SymbolId id) { results.insert(id); });
    return results;
}

/// Whether a condition of the statements is one of these symbols.
bool decides(const Block& block, const SymbolSet& symbols) {
    return std::any_of(block.begin(), block.end(), [&](const Statement& statement) {
        const auto* const repeated = std::get_if<While>(&statement.what);
        if (repeated != nullptr && symbols.count(repeated->condition) > 0) return true;
        if (const Block* const body = body_of(statement)) return decides(*body, symbols);
        const auto* const branch = std::get_if<If>(&statement.what);
        return branch != nullptr &&
               (symbols.count(branch->condition) > 0 || decides(branch->body, symbols) ||
                decides(branch->otherwise, symbols));
    });
}

/// Adds a copy of a symbol under a name that is free.
SymbolId add_like(Program& program, Symbol symbol) {
    const std::string name = symbol.name.substr(0, 50);
    for (int number = 2; program.find(symbol.name) >= 0; ++number) {
        symbol.name = core::text(name, '_', number);
    }
    return program.add(std::move(symbol));
}

/// Statements in their order, each to one of two programs. A symbol may be set by both: there are
/// then several of it, its versions.
class Splitter {
  public:
    Splitter(const Program& program, std::span<const std::string> parameters) : all_(program) {
        for (const Symbol& symbol : program.symbols) {
            expects(symbol.source != Source::in_place, "sweep: ", symbol.name,
                    " is overwritten; expected a program that has inputs and results alone");
        }
        expects(!parameters.empty(), "sweep: there is no parameter");
        for (const std::string& name : parameters) {
            const SymbolId id = program.find(name);
            expects(id >= 0 && program[id].source == Source::input, "sweep: ", program.name,
                    " has no input ", name);
            expects(program[id].type.kind == Kind::scalar, "sweep: ", name, " is of type ",
                    text_of(program[id].type), "; expected a scalar");
            expects(of_members_.insert(id).second, "sweep: ", name, " occurs twice");
        }
    }

    SplitProgram run() {
        const SymbolSet parameters = of_members_;
        const std::vector<SymbolSet> live = live_before_statements(all_);
        for (std::size_t i = 0; i < live.size(); ++i) add(all_.statements[i], live[i]);
        SymbolSet of_members;
        for_each_symbol(members_, [&](SymbolId id) { of_members.insert(id); });
        for (const SymbolId id : parameters) {
            expects(of_members.count(id) > 0, "sweep: no result depends on ", all_[id].name);
        }
        SymbolSet inputs;
        std::vector<SymbolId>& from_common = std::get<Return>(common_.back().what).values;
        for (const SymbolId id : of_members) {
            if (of_common_.count(id) == 0) continue;
            expects(all_[id].type.kind != Kind::iteration, "sweep: ", all_[id].name,
                    " is read after its loop");
            inputs.insert(id);
            if (std::count(from_common.begin(), from_common.end(), id) == 0) {
                from_common.push_back(id);
            }
        }
        const bool is_similar = !decides(members_, of_members_);
        return {part(std::move(common_), {}), part(std::move(members_), inputs), results_,
                is_similar};
    }

  private:
    void add(Statement statement, const SymbolSet& live) {
        if (auto* const call = std::get_if<Call>(&statement.what)) {
            for (SymbolId& id : call->operands) id = version(id);
            const bool is_reached = has(of_members_, call->operands);
            for (SymbolId& id : call->results) {
                // What the other program set, or members have read, stays as it is.
                const SymbolId now = version(id);
                const bool is_of_common = of_common_.count(now) > 0,
                           is_of_members = of_members_.count(now) > 0 || read_.count(now) > 0;
                if (is_reached ? is_of_common : is_of_members) now_[id] = add_like(all_, all_[id]);
                id = version(id);
            }
            append(std::move(statement), is_reached);
        } else if (const auto* const result = std::get_if<Return>(&statement.what)) {
            add_return(*result, statement.where);
        } else {
            add_block(std::move(statement), live);
        }
    }
    /// A loop or a branch. Members have it as a whole if they have any of it.
    void add_block(Statement statement, const SymbolSet& live) {
        Block block{std::move(statement)};
        SymbolSet symbols;
        for_each_symbol(block, [&](SymbolId id) { symbols.insert(version(id)); });
        const SymbolSet set = results_of(block);
        const bool is_reached =
            has(of_members_, symbols) || std::any_of(set.begin(), set.end(), [&](SymbolId id) {
                return read_.count(version(id)) > 0;
            });
        for (const SymbolId id : set) {
            const SymbolId now = version(id);
            if (!is_reached || of_common_.count(now) == 0) continue;
            now_[id] = add_like(all_, all_[id]);
            if (live.count(id) == 0) continue;
            append({Call{"copy", {}, {now_[id]}, {now}}, block.front().where}, true);
        }
        for_each_symbol(block, [&](SymbolId& id) { id = version(id); });
        append(std::move(block.front()), is_reached);
    }
    void add_return(const Return& result, Location where) {
        Return of_common, of_members;
        for (const SymbolId of : result.values) {
            const SymbolId id = version(of);
            const bool has_axis = of_members_.count(id) > 0;
            auto& values = (has_axis ? of_members : of_common).values;
            results_.push_back({has_axis, values.size()});
            values.push_back(id);
        }
        expects(!of_members.values.empty(), "sweep: no result depends on a parameter");
        common_.push_back({of_common, where});
        members_.push_back({of_members, where});
    }

    void append(Statement statement, bool to_members) {
        Block block{std::move(statement)};
        const SymbolSet set = results_of(block);
        (to_members ? of_members_ : of_common_).insert(set.begin(), set.end());
        if (to_members) {
            for_each_symbol(std::as_const(block), [&](SymbolId id) { read_.insert(id); });
        }
        (to_members ? members_ : common_).push_back(std::move(block.front()));
    }

    SymbolId version(SymbolId id) const {
        const auto found = now_.find(id);
        return found == now_.end() ? id : found->second;
    }
    template <class Ids>
    static bool has(const SymbolSet& set, const Ids& ids) {
        return std::any_of(ids.begin(), ids.end(), [&](SymbolId id) { return set.count(id) > 0; });
    }

    /// A program of these statements, with the symbols that they have.
    Program part(Block statements, const SymbolSet& inputs) const {
        Program program;
        program.name = all_.name;
        SymbolSet symbols;
        for_each_symbol(statements, [&](SymbolId id) { symbols.insert(id); });
        std::map<SymbolId, SymbolId> places;
        for (const SymbolId id : symbols) {
            places[id] = static_cast<SymbolId>(program.symbols.size());
            program.symbols.push_back(all_[id]);
            if (inputs.count(id) > 0) program.symbols.back().source = Source::input;
        }
        for_each_symbol(statements, [&](SymbolId& id) { id = places.at(id); });
        program.statements = std::move(statements);
        return program;
    }

    Program all_;  ///< with the versions of symbols
    std::map<SymbolId, SymbolId> now_;
    SymbolSet of_members_, of_common_;  ///< what their statements set
    SymbolSet read_;                    ///< by members
    Block common_, members_;
    std::vector<SplitProgram::Result> results_;
};

/// Makes a program of members one for several values.
class Widener {
  public:
    Widener(const Program& members, const Registry& registry, index_t lanes)
        : wide_{members}, lanes_(lanes), calls_(check(members, registry)) {}

    std::optional<WideProgram> run(std::span<const std::string> parameters, Ways ways) {
        if (!finds_problems() || !are_of_problems()) return std::nullopt;
        for (const std::string& name : parameters) reached_.insert(wide_.program.find(name));
        for (const SymbolId id : returned(wide_.program)) reached_.insert(id);
        for (std::size_t before = 0; before != reached_.size();) {
            before = reached_.size();
            for (const auto& [call, planned] : calls_) reach(*call);
        }
        if (ways == Ways::own) {
            if (!counts_inside(wide_.program.statements, {})) return std::nullopt;
            wide_.program.has_own_ways = true;
            add_all_variables();
        } else if (decides(wide_.program.statements, reached_)) {
            return std::nullopt;
        }
        const std::size_t count = wide_.program.symbols.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (is_wide(static_cast<SymbolId>(i))) widen(wide_.program.symbols[i].type);
        }
        spread(wide_.program.statements);
        return std::move(wide_);
    }

  private:
    bool finds_problems() {
        for (const Symbol& symbol : wide_.program.symbols) {
            if (symbol.type.is_scalar()) continue;
            const index_t problems = symbol.type.extent[0];
            if (symbol.type.kind != Kind::batch || problems == 0) return false;
            if (wide_.problems != 0 && wide_.problems != problems) return false;
            wide_.problems = problems;
        }
        return true;
    }
    bool are_of_problems() const {
        return std::all_of(calls_.begin(), calls_.end(), [](const auto& call) {
            const Level level = call.second.match.level;
            return level == Level::element || level == Level::block;
        });
    }
    bool is_wide(SymbolId id) const {
        return wide_.program[id].type.kind == Kind::batch || reached_.count(id) > 0;
    }
    /// A value may set them, and others not.
    void add_all_variables() {
        for (std::size_t i = 0; i < wide_.program.symbols.size(); ++i) {
            const Symbol& symbol = wide_.program.symbols[i];
            if (symbol.source == Source::local && symbol.type.kind == Kind::scalar) {
                reached_.insert(static_cast<SymbolId>(i));
            }
        }
    }
    /// Whether what counts a loop is read in that loop alone.
    bool counts_inside(const Block& block, const SymbolSet& counting) const {
        return std::all_of(block.begin(), block.end(), [&](const Statement& statement) {
            if (const auto* const call = std::get_if<Call>(&statement.what)) {
                return std::all_of(call->operands.begin(), call->operands.end(), [&](SymbolId id) {
                    return wide_.program[id].type.kind != Kind::iteration || counting.count(id) > 0;
                });
            }
            if (const Block* const body = body_of(statement)) {
                SymbolSet inside = counting;
                const auto* const loop = std::get_if<Loop>(&statement.what);
                if (loop != nullptr) inside.insert(loop->variable);
                return counts_inside(*body, inside);
            }
            const auto* const branch = std::get_if<If>(&statement.what);
            return branch == nullptr || (counts_inside(branch->body, counting) &&
                                         counts_inside(branch->otherwise, counting));
        });
    }
    void reach(const Call& call) {
        if (std::none_of(call.operands.begin(), call.operands.end(),
                         [&](SymbolId id) { return is_wide(id); })) {
            return;
        }
        reached_.insert(call.results.begin(), call.results.end());
    }
    void widen(Type& type) const {
        if (type.kind == Kind::batch) {
            std::vector<index_t> extents(type.extent.begin(), type.extent.begin() + type.rank);
            extents[0] *= lanes_;
            type = batch(type.dtype, extents);
        } else if (wide_.problems == 0) {
            type = array(type.dtype, {lanes_});
        } else {
            type = batch(type.dtype, {lanes_ * wide_.problems, 1});
        }
    }
    /// Calls on numbers that all values share, into what each value has: the result is selected for
    /// each of them.
    void spread(Block& block) {
        Block all;
        for (Statement& statement : block) {
            if (Block* const body = body_of(statement)) spread(*body);
            if (auto* const branch = std::get_if<If>(&statement.what)) {
                spread(branch->body);
                spread(branch->otherwise);
            }
            all.push_back(std::move(statement));
            auto* const call = std::get_if<Call>(&all.back().what);
            if (call == nullptr || std::any_of(call->operands.begin(), call->operands.end(),
                                               [&](SymbolId id) { return is_wide(id); })) {
                continue;
            }
            const Location where = all.back().where;
            std::vector<std::pair<SymbolId, SymbolId>> selected;
            for (SymbolId& id : call->results) {
                if (!is_wide(id)) continue;
                Symbol number = wide_.program[id];
                number.type = scalar(number.type.dtype);
                const SymbolId of_all = add_like(wide_.program, std::move(number));
                selected.emplace_back(std::exchange(id, of_all), of_all);
            }
            for (const auto& [id, of_all] : selected) {
                all.push_back({Call{"select", {}, {id}, {truths(), of_all, of_all}}, where});
            }
        }
        block = std::move(all);
    }
    SymbolId truths() {
        const SymbolId found = wide_.program.find(name_of_truths);
        if (wide_.has_truths) return found;
        wide_.has_truths = true;
        Symbol symbol;
        symbol.name = name_of_truths;
        symbol.source = Source::input;
        symbol.type = scalar(Dtype::boolean);
        widen(symbol.type);
        return wide_.program.add(std::move(symbol));
    }

    WideProgram wide_;
    index_t lanes_;
    PlannedCalls calls_;
    SymbolSet reached_;
};

}  // namespace

SplitProgram split(const Program& program, const Registry& registry,
                   std::span<const std::string> parameters) {
    return Splitter(hoisted(program, registry, parameters), parameters).run();
}

std::optional<WideProgram> widened(const Program& members, const Registry& registry,
                                   std::span<const std::string> parameters, index_t lanes,
                                   Ways ways) {
    try {
        std::optional<WideProgram> wide = Widener(members, registry, lanes).run(parameters, ways);
        if (wide) check(wide->program, registry);
        return wide;
    } catch (const core::InvalidArgument&) {
        // There is no such call of batches, or they would be too large.
        return std::nullopt;
    }
}

}  // namespace aperture::compose
