// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/data_flow.hpp"

namespace aperture::compose {
namespace {

class Analysis {
  public:
    explicit Analysis(const Program& program) : program_(program) {}

    std::map<const Call*, Live> of_all() {
        SymbolSet at_end;
        for (std::size_t i = 0; i < program_.symbols.size(); ++i) {
            if (program_.symbols[i].source == Source::in_place) {
                at_end.insert(static_cast<SymbolId>(i));
            }
        }
        before(program_.statements, at_end);
        return std::move(live_);
    }

  private:
    /// What is live before a block after which `live` is. `exit_` is live where a break leads.
    SymbolSet before(const Block& block, SymbolSet live) {
        for (std::size_t i = block.size(); i-- > 0;) {
            live = std::visit([&](const auto& what) { return before(what, std::move(live)); },
                              block[i].what);
        }
        return live;
    }
    SymbolSet before(const Call& call, SymbolSet live) {
        Live& of_call = live_[&call];
        of_call.after = live;
        for (const SymbolId id : call.results) live.erase(id);
        for (const SymbolId id : call.operands) {
            if (program_[id].type.kind != Kind::constant) live.insert(id);
        }
        return of_call.before = live;
    }
    SymbolSet before(const Loop& loop, const SymbolSet& after) {
        SymbolSet live = repeated(loop.body, after, {});
        live.erase(loop.variable);
        return live;
    }
    SymbolSet before(const While& loop, const SymbolSet& after) {
        return repeated(loop.body, after, {loop.condition});
    }
    /// Until nothing more is live at the head: what the next time, or what follows, reads. Begins
    /// with what an outer loop's last time found, since nested loops would take 2^depth times.
    SymbolSet repeated(const Block& body, const SymbolSet& after, const SymbolSet& read_at_head) {
        const SymbolSet outer = exit_;
        exit_ = after;
        SymbolSet head = joined(joined(after, read_at_head), heads_[&body]);
        while (true) {
            SymbolSet next = joined(head, before(body, head));
            if (next == head) break;
            head = std::move(next);
        }
        exit_ = outer;
        heads_[&body] = head;
        return head;
    }
    SymbolSet before(const If& branch, const SymbolSet& after) {
        SymbolSet live = joined(before(branch.body, after), before(branch.otherwise, after));
        live.insert(branch.condition);
        return live;
    }
    SymbolSet before(const Break&, const SymbolSet&) { return exit_; }
    SymbolSet before(const Return& result, SymbolSet after) {
        after.insert(result.values.begin(), result.values.end());
        return after;
    }
    static SymbolSet joined(SymbolSet a, const SymbolSet& b) {
        a.insert(b.begin(), b.end());
        return a;
    }

    const Program& program_;
    SymbolSet exit_;
    std::map<const Block*, SymbolSet> heads_;
    std::map<const Call*, Live> live_;
};

}  // namespace

std::map<const Call*, Live> live_symbols(const Program& program) {
    return Analysis(program).of_all();
}

std::vector<SymbolSet> live_before_statements(Program program) {
    Block marked;
    for (Statement& statement : program.statements) {
        marked.push_back({Call{}});
        marked.push_back(std::move(statement));
    }
    program.statements = std::move(marked);
    const auto live = live_symbols(program);
    std::vector<SymbolSet> all;
    for (std::size_t i = 0; i < program.statements.size(); i += 2) {
        all.push_back(live.at(&std::get<Call>(program.statements[i].what)).after);
    }
    return all;
}

}  // namespace aperture::compose
