// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/plan.hpp"

#include <algorithm>
#include <optional>

#include "aperture/core/error.hpp"
#include "libcompose/check.hpp"
#include "libcompose/data_flow.hpp"

namespace aperture::compose {
namespace {

index_t bytes_of_problem(const std::vector<OnChip>& numbers) {
    index_t bytes = 0;
    for (const OnChip& one : numbers) {
        bytes += one.type.numbers_of_problem() * bytes_of(one.type.dtype);
    }
    return bytes;
}

/// Collects calls until one cannot run in the same kernel.
class KernelBuilder {
  public:
    KernelBuilder(const Program& program, Fusion fusion) : program_(program), fusion_(fusion) {}

    /// Whether a call may join. Threads of a kernel see what others wrote only after it.
    bool accepts(const PlannedCall& planned) const {
        const auto& [call_pointer, match, operation] = planned;
        const Call& call = *call_pointer;
        if (kernel_.calls.empty()) return true;
        if (fusion_ == Fusion::none || !fuses(match) || !fuses(kernel_.calls.back().match)) {
            return false;
        }
        const Type elements = elements_of(call, match);
        if (elements.rank > 0 && kernel_.elements.rank > 0 && elements != kernel_.elements) {
            return false;
        }
        if (bytes_of_problem(on_chip_with(planned)) > most_bytes_on_chip) return false;
        if (!accepts_lines(planned)) return false;
        for (std::size_t i = 0; i < call.operands.size(); ++i) {
            const SymbolId id = call.operands[i];
            if (match.accesses[i].kind == Access::Kind::row && of_rows_.count(id) > 0) continue;
            const bool of_others = reads_others(match.accesses[i]);
            if (summed_.count(id) > 0 || (of_others && written_.count(id) > 0)) return false;
        }
        return std::none_of(call.results.begin(), call.results.end(), [&](SymbolId id) {
            // A scalar has one value in a kernel, since all threads read it at any time.
            return read_by_others_.count(id) > 0 ||
                   (program_[id].type.is_scalar() &&
                    (loaded_.count(id) > 0 || written_.count(id) > 0));
        });
    }

    void add(const PlannedCall& planned) {
        const Call& call = *planned.call;
        const Match& match = planned.match;
        const Type elements = elements_of(call, match);
        if (elements.rank > 0 || kernel_.calls.empty()) kernel_.elements = elements;
        kernel_.on_chip = on_chip_with(planned);
        for (std::size_t i = 0; i < call.operands.size(); ++i) {
            const SymbolId id = call.operands[i];
            if (program_[id].source == Source::known) continue;
            if (written_.count(id) == 0) loaded_.insert(id);
            if (reads_others(match.accesses[i])) read_by_others_.insert(id);
        }
        const bool after_rows = comes_after_rows(call);
        for (const SymbolId id : call.results) {
            written_.insert(id);
            if (match.level == Level::sum || adds_lines(match.level)) summed_.insert(id);
            if (match.level == Level::row) of_rows_.insert(id);
            if (after_rows) after_rows_.insert(id);
        }
        kernel_.calls.push_back(planned);
    }

    bool empty() const { return kernel_.calls.empty(); }

    /// The kernel after which `live` is read.
    Kernel finish(const SymbolSet& live) {
        const auto bytes_of = [&](SymbolId id) { return double(program_[id].type.bytes()); };
        for (const SymbolId id : loaded_) {
            kernel_.loads.push_back(id);
            kernel_.bytes += bytes_of(id);
        }
        for (const SymbolId id : written_) {
            const bool lives = live.count(id) > 0;
            (lives ? kernel_.stores : kernel_.registers).push_back(id);
            if (lives) kernel_.bytes += bytes_of(id);
        }
        for (const PlannedCall& planned : kernel_.calls) {
            const Type elements = elements_of(*planned.call, planned.match);
            kernel_.flops += planned.match.flops * double(elements.size());
        }
        kernel_.exchanges = fusion_ != Fusion::none && exchanges(live);
        Kernel done = std::move(kernel_);
        *this = KernelBuilder(program_, fusion_);
        return done;
    }
    KernelBuilder(const KernelBuilder&) = default;
    KernelBuilder& operator=(const KernelBuilder& other) {
        kernel_ = other.kernel_;
        loaded_ = other.loaded_;
        written_ = other.written_;
        summed_ = other.summed_;
        of_rows_ = other.of_rows_;
        after_rows_ = other.after_rows_;
        read_by_others_ = other.read_by_others_;
        return *this;
    }

  private:
    /// Whether all calls copy arrays of the program's own that nobody reads later.
    bool exchanges(const SymbolSet& live) const {
        SymbolSet met;
        return std::all_of(kernel_.calls.begin(), kernel_.calls.end(), [&](const PlannedCall& one) {
            const SymbolId to = one.call->results[0];
            return one.call->operation == "copy" && met.insert(to).second && [&] {
                const SymbolId from = one.call->operands[0];
                return (program_[from].type.kind == Kind::array ||
                        program_[from].type.kind == Kind::batch) &&
                       program_[from].source == Source::local && live.count(from) == 0 &&
                       met.insert(from).second;
            }();
        });
    }
    /// Whether a call reads the sum of its row, or what does.
    bool comes_after_rows(const Call& call) const {
        return std::any_of(call.operands.begin(), call.operands.end(), [&](SymbolId id) {
            return of_rows_.count(id) > 0 || after_rows_.count(id) > 0;
        });
    }
    /// What adds rows or columns up has another walk than other sums. Calls after sums of rows read
    /// the row a second time, from the chip.
    bool accepts_lines(const PlannedCall& planned) const {
        const auto has = [&](auto&& is_such) {
            return is_such(planned.match.level) ||
                   std::any_of(kernel_.calls.begin(), kernel_.calls.end(),
                               [&](const PlannedCall& one) { return is_such(one.match.level); });
        };
        if (!has(adds_lines)) return true;
        if (has([](Level level) { return level == Level::sum; })) return false;
        const bool after_rows = comes_after_rows(*planned.call);
        if (after_rows && planned.match.level == Level::row) return false;
        if (!after_rows && after_rows_.empty()) return true;
        SymbolSet row;
        const auto add = [&](const PlannedCall& one) {
            for (std::size_t i = 0; i < one.call->operands.size(); ++i) {
                const SymbolId id = one.call->operands[i];
                const bool point = one.match.accesses[i].kind == Access::Kind::point;
                const bool loaded = loaded_.count(id) > 0 || written_.count(id) == 0;
                if (point && loaded && !program_[id].type.is_scalar()) row.insert(id);
            }
        };
        for (const PlannedCall& one : kernel_.calls) add(one);
        add(planned);
        index_t bytes = 0;
        for (const SymbolId id : row) {
            bytes += kernel_.elements.extent[1] * bytes_of(program_[id].type.dtype);
        }
        return bytes <= most_bytes_of_row;
    }
    static bool fuses(const Match& match) { return match.level != Level::device; }
    /// Entries that other threads write, or other groups of threads.
    static bool reads_others(const Access& access) {
        return access.kind != Access::Kind::point && access.kind != Access::Kind::problem;
    }
    /// The extents over which a call runs, of numbers of any type.
    Type elements_of(const Call& call, const Match& match) const {
        Type type = match.level == Level::sum || adds_lines(match.level)
                        ? program_[call.operands[0]].type
                        : match.results[0];
        type.dtype = Dtype::boolean;
        if (type.kind == Kind::batch) {
            type.rank = 1;
            type.extent = {type.extent[0]};
        }
        return type;
    }
    /// What is on chip with another call. Operations at other levels access batches in memory.
    std::vector<OnChip> on_chip_with(const PlannedCall& planned) const {
        std::vector<OnChip> all = kernel_.on_chip;
        if (planned.match.level != Level::block) return all;
        const auto add = [&](SymbolId id) {
            const bool is_there = std::any_of(all.begin(), all.end(),
                                              [&](const OnChip& one) { return one.id == id; });
            const Type& type = program_[id].type;
            if (type.kind == Kind::batch && !is_there) all.push_back({id, type});
        };
        for (const SymbolId id : planned.call->operands) add(id);
        for (const SymbolId id : planned.call->results) add(id);
        const Type& workspace = planned.match.workspace;
        if (workspace.kind == Kind::batch) all.push_back({-1, workspace});
        return all;
    }

    const Program& program_;
    Fusion fusion_;
    Kernel kernel_;
    SymbolSet loaded_, written_, summed_, read_by_others_;
    SymbolSet of_rows_, after_rows_;  // sums of rows, and what depends on them
};

class Planner {
  public:
    Planner(const Program& program, const Registry& registry, Fusion fusion)
        : program_(program),
          calls_(check(program, registry)),
          live_(live_symbols(program)),
          fusion_(fusion) {}

    std::vector<Step> steps(const Block& block) const {
        std::vector<Step> all;
        KernelBuilder kernel(program_, fusion_);
        const Call* last = nullptr;
        const auto finish = [&] {
            if (!kernel.empty()) all.push_back({kernel.finish(live_.at(last).after)});
        };
        for (const Statement& statement : block) {
            const auto* const call = std::get_if<Call>(&statement.what);
            if (call == nullptr) {
                finish();
                add(statement, all);
                continue;
            }
            const PlannedCall& planned = calls_.at(call);
            if (!kernel.accepts(planned)) finish();
            kernel.add(planned);
            last = call;
        }
        finish();
        return all;
    }

  private:
    void add(const Statement& statement, std::vector<Step>& all) const {
        if (const auto* loop = std::get_if<Loop>(&statement.what)) {
            all.push_back({Repeat{loop, steps(loop->body)}});
        } else if (const auto* repeated = std::get_if<While>(&statement.what)) {
            all.push_back({RepeatWhile{repeated, steps(repeated->body)}});
        } else if (const auto* branch = std::get_if<If>(&statement.what)) {
            all.push_back({Branch{branch, steps(branch->body), steps(branch->otherwise)}});
        } else if (std::holds_alternative<Break>(statement.what)) {
            all.push_back({Break{}});
        }
    }

    const Program& program_;
    PlannedCalls calls_;
    std::map<const Call*, Live> live_;
    Fusion fusion_;
};

class Explanation {
  public:
    explicit Explanation(const Program& program) : program_(program) {}

    std::string text(const std::vector<Step>& steps) {
        for (const Step& step : steps) {
            std::visit([&](const auto& what) { add(what); }, step.what);
        }
        return std::move(all_);
    }

  private:
    void line(const std::string& text) { all_ += std::string(4 * depth_, ' ') + text + "\n"; }
    void inner(const std::string& head, const std::vector<Step>& steps) {
        line(head);
        ++depth_;
        for (const Step& step : steps) {
            std::visit([&](const auto& what) { add(what); }, step.what);
        }
        --depth_;
    }
    std::string names(const std::vector<SymbolId>& ids) const {
        std::string all;
        for (const SymbolId id : ids) all += " " + program_[id].name;
        return all;
    }

    void add(const Kernel& kernel) {
        std::string extents;
        for (int i = 0; i < kernel.elements.rank; ++i) {
            extents += core::text(i > 0 ? " x " : "", kernel.elements.extent[std::size_t(i)]);
        }
        std::string calls;
        for (const PlannedCall& planned : kernel.calls) calls += " " + planned.call->operation;
        const bool of_batches = kernel.elements.kind == Kind::batch;
        if (of_batches) extents += " problems";
        line(core::text("kernel ", kernel.number + 1, ", ", extents.empty() ? "scalars" : extents,
                        ":", calls, kernel.exchanges ? ", by an exchange of memory" : ""));
        ++depth_;
        if (!kernel.loads.empty()) line("loads" + names(kernel.loads));
        if (!kernel.stores.empty()) line("stores" + names(kernel.stores));
        if (!kernel.registers.empty()) {
            line((of_batches ? "on chip" : "registers") + names(kernel.registers));
        }
        const double elements = std::max<double>(1, double(kernel.elements.size()));
        line(core::text(
            kernel.bytes / elements, " bytes and ", kernel.flops / elements, " operations ",
            of_batches ? "a problem" : "an element",
            kernel.on_chip.empty()
                ? ""
                : core::text(", of ", bytes_of_problem(kernel.on_chip), " bytes on chip")));
        --depth_;
    }
    void add(const Repeat& repeat) {
        inner(core::text("for ", program_[repeat.loop->variable].name, " in ",
                         program_[repeat.loop->count].value),
              repeat.body);
    }
    void add(const RepeatWhile& repeat) {
        inner("while " + program_[repeat.loop->condition].name, repeat.body);
    }
    void add(const Branch& branch) {
        inner("if " + program_[branch.branch->condition].name, branch.body);
        if (!branch.otherwise.empty()) inner("else", branch.otherwise);
    }
    void add(const Break&) { line("break"); }

    const Program& program_;
    std::string all_;
    std::size_t depth_ = 0;
};

}  // namespace

namespace {

template <class Steps, class Action>
void for_each_kernel(Steps& steps, const Action& action) {
    for (auto& step : steps) {
        if (auto* kernel = std::get_if<Kernel>(&step.what)) action(*kernel);
        if (auto* repeat = std::get_if<Repeat>(&step.what)) for_each_kernel(repeat->body, action);
        if (auto* repeat = std::get_if<RepeatWhile>(&step.what)) {
            for_each_kernel(repeat->body, action);
        }
        if (auto* branch = std::get_if<Branch>(&step.what)) {
            for_each_kernel(branch->body, action);
            for_each_kernel(branch->otherwise, action);
        }
    }
}

/// Lets kernels exchange memory only if no more than one symbol of the caller can get the memory of
/// a symbol: at the end, values return to the caller's memory by one copy each.
class Exchanges {
  public:
    explicit Exchanges(const Program& program) {
        for (const Statement& statement : program.statements) {
            const auto* const result = std::get_if<Return>(&statement.what);
            if (result != nullptr) returned_.insert(result->values.begin(), result->values.end());
        }
    }
    void decide(Kernel& kernel) {
        if (!kernel.exchanges) return;
        kernel.exchanges =
            std::all_of(kernel.calls.begin(), kernel.calls.end(), [&](const PlannedCall& planned) {
                const SymbolId from = planned.call->operands[0], to = planned.call->results[0];
                return returned_.count(from) == 0 && partner_.emplace(from, to).first->second == to;
            });
        if (kernel.exchanges) kernel.bytes = 0;
    }

  private:
    SymbolSet returned_;
    std::map<SymbolId, SymbolId> partner_;
};

}  // namespace

Plan plan(Program program, const Registry& registry, Fusion fusion) {
    Plan made{std::make_shared<const Program>(std::move(program)), {}};
    made.steps = Planner(*made.program, registry, fusion).steps(made.program->statements);
    int kernels = 0;
    Exchanges exchanges(*made.program);
    for_each_kernel(made.steps, [&](Kernel& kernel) {
        kernel.number = kernels++;
        exchanges.decide(kernel);
    });
    return made;
}

std::vector<const Kernel*> Plan::kernels() const {
    std::vector<const Kernel*> all;
    for_each_kernel(steps, [&](const Kernel& kernel) { all.push_back(&kernel); });
    return all;
}

std::string explain(const Plan& plan) { return Explanation(*plan.program).text(plan.steps); }

}  // namespace aperture::compose
