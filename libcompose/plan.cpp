// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>

#include "aperture/core/error.hpp"
#include "libcompose/check.hpp"
#include "libcompose/data_flow.hpp"
#include "libcompose/fusion_space.hpp"
#include "libcompose/kernel_builder.hpp"
#include "libcompose/loops.hpp"

namespace aperture::compose {
namespace {

class Planner {
  public:
    Planner(const Program& program, const Registry& registry, Fusion fusion, const Machine& machine,
            std::size_t count)
        : program_(program),
          calls_(check(program, registry)),
          live_(live_symbols(program)),
          fusion_(fusion),
          machine_(machine),
          count_(count) {}

    /// `rank`: below `count`.
    std::vector<Step> steps_of_rank(std::size_t rank) {
        rank_ = rank;
        return steps(program_.statements);
    }
    std::vector<Step> steps_of(const CallsOfKernels& kernels) {
        given_ = kernels;
        std::vector<Step> all = steps(program_.statements);
        core::expects(given_->empty(), given_->size(), " kernels more than the calls need");
        return all;
    }

  private:
    std::vector<Step> steps(const Block& block) {
        std::vector<Step> all;
        Calls calls;  // one after the other
        const auto finish = [&] {
            if (calls.empty()) return;
            if (given_) {
                add_given(calls, all);
            } else if (fusion_ == Fusion::planned) {
                Part best = best_of(calls);
                std::move(best.kernels.begin(), best.kernels.end(), std::back_inserter(all));
            } else {
                add_in_a_row(calls, all);
            }
            calls.clear();
        };
        for (const Statement& statement : block) {
            if (const auto* const call = std::get_if<Call>(&statement.what)) {
                calls.push_back(&calls_.at(call));
            } else {
                finish();
                add(statement, all);
            }
        }
        finish();
        return all;
    }

    using Calls = std::vector<const PlannedCall*>;

    const SymbolSet& live_after(const PlannedCall& planned) const {
        return live_.at(planned.call).after;
    }

    /// As many calls in a row as may run in one kernel.
    void add_in_a_row(const Calls& calls, std::vector<Step>& all) const {
        KernelBuilder kernel(program_, fusion_);
        const PlannedCall* last = nullptr;
        for (const PlannedCall* planned : calls) {
            if (!kernel.accepts(*planned)) all.push_back({kernel.finish(live_after(*last))});
            kernel.add(*planned);
            last = planned;
        }
        all.push_back({kernel.finish(live_after(*last))});
    }

    /// The kernels that are given for all of these calls, the next ones of the program.
    void add_given(const Calls& calls, std::vector<Step>& all) {
        std::vector<Calls> kernels;
        std::vector<std::size_t> places(calls.size(), calls.size());
        for (std::size_t placed = 0; placed < calls.size();) {
            core::expects(!given_->empty() && !given_->front().empty(), "a call after call ",
                          first_call_ - 1, " is in no kernel");
            Calls& kernel = kernels.emplace_back();
            for (const int number : given_->front()) {
                const std::int64_t i = std::int64_t{number} - first_call_;
                core::expects(i >= 0 && i < std::int64_t(calls.size()) &&
                                  places[std::size_t(i)] == calls.size(),
                              "call ", number, " is in two kernels, or with calls beyond a loop");
                places[std::size_t(i)] = placed++;
                kernel.push_back(calls[std::size_t(i)]);
            }
            given_ = given_->subspan(1);
        }
        first_call_ += static_cast<int>(calls.size());
        expect_order(calls, places);

        SymbolSet live = live_after(*calls.back());
        std::vector<Step> backwards;
        std::reverse(kernels.begin(), kernels.end());
        for (Calls& kernel : kernels) {
            constexpr bool lines_may_follow = true;
            KernelBuilder builder(program_, fusion_, lines_may_follow);
            for (const PlannedCall* planned : kernel) {
                core::expects(builder.accepts(*planned), planned->call->operation,
                              " cannot run in one kernel with the calls before it");
                builder.add(*planned);
            }
            core::expects(builder.is_whole(),
                          "calls cannot run in one kernel: on vectors and images of which it adds "
                          "up no rows or columns, or it overwrites what neighbours read");
            backwards.push_back({builder.finish(live)});
            std::reverse(kernel.begin(), kernel.end());
            for (const PlannedCall* planned : kernel) {
                const Call& call = *planned->call;
                for (const SymbolId id : call.results) live.erase(id);
                live.insert(call.operands.begin(), call.operands.end());
            }
        }
        std::move(backwards.rbegin(), backwards.rend(), std::back_inserter(all));
    }
    /// Makers run before readers, and both before what overwrites.
    static void expect_order(const Calls& calls, const std::vector<std::size_t>& places) {
        const auto share = [](const std::vector<SymbolId>& a, const std::vector<SymbolId>& b) {
            return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
        };
        for (std::size_t later = 0; later < calls.size(); ++later) {
            for (std::size_t earlier = 0; earlier < later; ++earlier) {
                const Call &first = *calls[earlier]->call, &second = *calls[later]->call;
                core::expects(
                    places[earlier] < places[later] || !(share(first.results, second.operands) ||
                                                         share(first.operands, second.results) ||
                                                         share(first.results, second.results)),
                    second.operation, " runs before ", first.operation,
                    ", which is before it in the program and shares a symbol");
            }
        }
    }

    struct Part {
        double seconds = 0;
        std::vector<Step> kernels{};
    };
    /// The kernels that are predicted to take least time. Where there are too many covers to find
    /// these, half of the calls are planned at a time.
    Part best_of(std::span<const PlannedCall* const> calls) {
        Part whole;
        if (calls.size() <= most_calls_of_space) {
            const FusionSpace space =
                space_of(program_, calls, live_after(*calls.back()), tiles_from(machine_));
            Covers& covers = covers_[{calls.front(), calls.size()}];
            if (covers.best.empty()) {
                covers = best_covers(space, costs_of(space, calls), count_);
            }
            const Cover& cover = covers.best[std::min(rank_, covers.best.size() - 1)];
            whole.seconds = cover.cost;
            CallSet done = 0;
            for (const CallSet set : cover.kernels) {
                whole.kernels.push_back({kernel_of(space, calls, space.least_order(set), done)});
                done |= set;
            }
            if (covers.exact) return whole;
        }
        Part halves = best_of(calls.first(calls.size() / 2));
        Part second = best_of(calls.subspan(calls.size() / 2));
        halves.seconds += second.seconds;
        if (!whole.kernels.empty() && whole.seconds <= halves.seconds) return whole;
        std::move(second.kernels.begin(), second.kernels.end(), std::back_inserter(halves.kernels));
        return halves;
    }
    CoverCosts costs_of(const FusionSpace& space, std::span<const PlannedCall* const> calls) const {
        return {[this, &space, calls](CallSet set, CallSet done) {
                    std::vector<int> order;
                    for (CallSet left = set; left != 0; left &= left - 1) {
                        order.push_back(std::countr_zero(left));
                    }
                    // Of covers that take as long, that with fewer kernels.
                    constexpr double of_launch = 1e-3;
                    return predicted_seconds(program_, kernel_of(space, calls, order, done),
                                             machine_) +
                           of_launch * machine_.launch_seconds;
                },
                [this](const FusionSpace::Least& least) {
                    return least.bytes / machine_.bytes_a_second +
                           least.kernels * (machine_.launch_seconds + machine_.latency_seconds);
                }};
    }
    /// Of calls in this order, when `done` has run.
    Kernel kernel_of(const FusionSpace& space, std::span<const PlannedCall* const> calls,
                     const std::vector<int>& order, CallSet done) const {
        KernelBuilder kernel(program_, fusion_);
        for (const int call : order) {
            kernel.add(*calls[std::size_t(call)]);
            done |= only(call);
        }
        return kernel.finish(space.live(done));
    }

    void add(const Statement& statement, std::vector<Step>& all) {
        if (const auto* loop = std::get_if<Loop>(&statement.what)) {
            all.push_back({Repeat{{steps(loop->body)}, loop}});
        } else if (const auto* repeated = std::get_if<While>(&statement.what)) {
            all.push_back({RepeatWhile{{steps(repeated->body)}, repeated}});
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
    Machine machine_;
    std::size_t count_, rank_ = 0;
    std::optional<std::span<const std::vector<int>>> given_;  // those that have no steps yet
    int first_call_ = 0;                                      // of the program, without steps
    /// Of calls in a row: the first, and how many.
    std::map<std::pair<const PlannedCall*, std::size_t>, Covers> covers_;
};

class Explanation {
  public:
    /// `machine`: null if times are not told.
    Explanation(const Program& program, const Machine* machine, std::span<const double> measured)
        : program_(program), machine_(machine), measured_(measured) {}

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
        std::vector<SymbolId> made;
        for (const KernelPart& part : kernel.parts) {
            for (const std::size_t i : part.tiles) made.push_back(kernel.calls[i].call->results[0]);
        }
        if (!made.empty()) line("for neighbours" + names(made));
        const double elements = std::max<double>(1, double(kernel.elements.size()));
        line(core::text(
            kernel.bytes / elements, " bytes and ", kernel.flops / elements, " operations ",
            of_batches ? "a problem" : "an element",
            kernel.on_chip.empty()
                ? ""
                : core::text(", of ", bytes_of_problem(kernel.on_chip), " bytes on chip")));
        if (machine_ != nullptr) line(times(kernel));
        --depth_;
    }
    std::string times(const Kernel& kernel) const {
        const auto microseconds = [](double seconds) { return std::round(1e7 * seconds) / 10; };
        std::string all = core::text(std::llround(kernel.bytes), " bytes in all, ",
                                     microseconds(predicted_seconds(program_, kernel, *machine_)),
                                     " us predicted");
        const auto number = static_cast<std::size_t>(kernel.number);
        if (number < measured_.size()) {
            all += core::text(", ", microseconds(measured_[number]), " us measured");
        }
        return all;
    }
    static const char* way(const LoopStep& loop) {
        return loop.in_one_kernel ? ", cooperative on a GPU" : "";
    }
    void add(const Repeat& repeat) {
        inner(core::text("for ", program_[repeat.loop->variable].name, " in ",
                         program_[repeat.loop->count].value, way(repeat)),
              repeat.body);
    }
    void add(const RepeatWhile& repeat) {
        inner(core::text("while ", program_[repeat.loop->condition].name, way(repeat)),
              repeat.body);
    }
    void add(const Branch& branch) {
        inner("if " + program_[branch.branch->condition].name, branch.body);
        if (!branch.otherwise.empty()) inner("else", branch.otherwise);
    }
    void add(const Break&) { line("break"); }

    const Program& program_;
    const Machine* machine_;
    std::span<const double> measured_;
    std::string all_;
    std::size_t depth_ = 0;
};

}  // namespace

namespace {

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

Plan finished(const std::shared_ptr<const Program>& program, std::vector<Step> steps) {
    Plan made{program, std::move(steps)};
    int kernels = 0;
    Exchanges exchanges(*program);
    for_each_kernel(made.steps, [&](Kernel& kernel) {
        kernel.number = kernels++;
        exchanges.decide(kernel);
    });
    int loops = 0;
    for_each_loop(made.steps, [&](const Step&, LoopStep& loop) {
        loop.number = loops++;
        return true;
    });
    return made;
}

std::vector<Plan> plans(Program program, const Registry& registry, Fusion fusion,
                        const Machine& machine, std::size_t count) {
    const auto shared = std::make_shared<const Program>(std::move(program));
    Planner planner(*shared, registry, fusion, machine, count);
    std::vector<Plan> all;
    for (std::size_t rank = 0; rank < count; ++rank) {
        Plan made = finished(shared, planner.steps_of_rank(rank));
        if (fusion == Fusion::planned) {
            const std::vector<int> loops = best_loop_kernels(made, machine);
            made = with_loop_kernels(std::move(made), loops);
        }
        all.push_back(std::move(made));
    }
    return all;
}

/// Numbers the calls of a block from `numbers.size()` on, in the order of the program.
void number_calls(const Block& block, std::map<const Call*, int>& numbers) {
    for (const Statement& statement : block) {
        if (const auto* call = std::get_if<Call>(&statement.what)) {
            const auto number = static_cast<int>(numbers.size());
            numbers.emplace(call, number);
        } else if (const auto* loop = std::get_if<Loop>(&statement.what)) {
            number_calls(loop->body, numbers);
        } else if (const auto* repeated = std::get_if<While>(&statement.what)) {
            number_calls(repeated->body, numbers);
        } else if (const auto* branch = std::get_if<If>(&statement.what)) {
            number_calls(branch->body, numbers);
            number_calls(branch->otherwise, numbers);
        }
    }
}

}  // namespace

Plan plan(Program program, const Registry& registry, Fusion fusion, const Machine& machine) {
    return std::move(plans(std::move(program), registry, fusion, machine, 1).front());
}

std::vector<Plan> best_plans(Program program, const Registry& registry, std::size_t count,
                             const Machine& machine) {
    return plans(std::move(program), registry, Fusion::planned, machine, count);
}

Plan plan(Program program, const Registry& registry, const CallsOfKernels& kernels) {
    const auto shared = std::make_shared<const Program>(std::move(program));
    return finished(shared, Planner(*shared, registry, Fusion::planned, h100, 1).steps_of(kernels));
}

CallsOfKernels calls_of_kernels(const Plan& plan) {
    std::map<const Call*, int> numbers;
    number_calls(plan.program->statements, numbers);
    CallsOfKernels all;
    for (const Kernel* kernel : plan.kernels()) {
        std::vector<int>& calls = all.emplace_back();
        for (const PlannedCall& planned : kernel->calls) calls.push_back(numbers.at(planned.call));
    }
    return all;
}

std::vector<int> loop_kernels(const Plan& plan) {
    return outermost_loops(plan, [](const LoopStep& loop) { return loop.in_one_kernel; });
}

std::vector<int> possible_loop_kernels(const Plan& plan) {
    return outermost_loops(plan, may_be_one_kernel);
}

Plan with_loop_kernels(Plan plan, std::span<const int> loops) {
    for_each_loop(plan.steps, [&](const Step&, LoopStep& loop) {
        loop.in_one_kernel = std::count(loops.begin(), loops.end(), loop.number) > 0;
        core::expects(!loop.in_one_kernel || may_be_one_kernel(loop), "loop ", loop.number,
                      " cannot be one kernel");
        return true;
    });
    core::expects(loop_kernels(plan).size() == loops.size(),
                  "a loop is not in the program, or in another one");
    return plan;
}

std::vector<const Kernel*> Plan::kernels() const {
    std::vector<const Kernel*> all;
    for_each_kernel(steps, [&](const Kernel& kernel) { all.push_back(&kernel); });
    return all;
}

std::string explain(const Plan& plan) {
    return Explanation(*plan.program, nullptr, {}).text(plan.steps);
}
std::string explain(const Plan& plan, const Machine& machine,
                    std::span<const double> measured_seconds) {
    return Explanation(*plan.program, &machine, measured_seconds).text(plan.steps);
}

}  // namespace aperture::compose
