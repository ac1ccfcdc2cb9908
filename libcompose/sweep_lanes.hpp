// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aperture/compose/sweep.hpp"
#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/lane_runs.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/search.hpp"
#include "libcompose/side_by_side.hpp"
#include "libcompose/sweep_programs.hpp"

namespace aperture::compose {

/// A sweep, before anything is compiled.
struct SweepSetup {
    Registry registry;
    std::vector<std::string> parameters;
    SweepOptions options;
    SplitProgram programs;
    Machine machine;

    Plan planned(const Program& program) const {
        return plan(program, registry, options.fusion, machine);
    }
};

/// What a run of a sweep is called with.
template <class Executor>
struct SweepValues {
    index_t count;
    Arguments arguments;  ///< with what the common program returned
    std::vector<Argument> results;
    /// Memory that lives as long as the run.
    std::vector<core::Array<std::byte, 1, typename Executor::Space>> arrays{};
};

/// Argument number `number` of `argument.type` one after another.
inline Argument piece(Argument argument, index_t number) {
    if (argument.data != nullptr) {
        argument.data = static_cast<std::byte*>(argument.data) + number * argument.type.bytes();
    }
    return argument;
}

inline std::vector<Argument> results_of(std::span<const Argument> of_all, index_t value) {
    std::vector<Argument> all;
    for (const Argument& result : of_all) all.push_back(piece(result, value));
    return all;
}
/// Those that a part of the program takes.
inline Arguments taken_by(const Program& program, const Arguments& arguments) {
    Arguments all;
    for (const Symbol& symbol : program.symbols) {
        const auto found = arguments.find(symbol.name);
        if (symbol.source == Source::input && found != arguments.end()) all.insert(*found);
    }
    return all;
}

/// The members of a sweep as one program of several values (widened).
template <class Executor>
class Lanes {
  public:
    /// `setup` outlives it.
    explicit Lanes(const SweepSetup& setup) : setup_(setup) {
        for (const Ways ways : {Ways::one, Ways::own}) {
            if (wide_ || (core::is_gpu<Executor> && ways == Ways::own)) continue;
            ways_ = ways;
            wide_ = widened(setup.programs.members, setup.registry, setup.parameters, 1, ways);
        }
    }

    /// Nothing if there is no such program.
    const std::optional<WideProgram>& program() const { return wide_; }
    /// Of so many values. Throws InvalidArgument if they are too many.
    WideProgram of(index_t lanes) const {
        std::optional<WideProgram> wide =
            widened(setup_.programs.members, setup_.registry, setup_.parameters, lanes, ways_);
        core::expects(wide.has_value(), "sweep: ", lanes, " values are too many for lanes");
        return std::move(*wide);
    }

    /// At most `lanes` at a time, on each thread if they go their own ways; then the same number in
    /// all runs saves compiling. Returns values that failed, whose results may be anything.
    std::vector<FailedValue> run(Executor& executor, SweepValues<Executor>& values, index_t lanes) {
        if (ways_ == Ways::own) return run_own_ways(executor, values, lanes);
        run_one_way(executor, values, lanes);
        return {};
    }

  private:
    /// A thread of a CPU with what it runs for values that go their own ways.
    struct Thread {
        Thread(const Plan& plan, index_t lanes, Tier tier)
            : alone(1), runs(alone, plan, lanes, tier) {}
        core::Cpu alone;
        LaneRuns runs;
        std::deque<std::vector<std::byte>> memory{};
    };

    /// Values that go their own ways: on each thread at most `lanes` at a time.
    std::vector<FailedValue> run_own_ways(Executor& executor, SweepValues<Executor>& values,
                                          index_t lanes) {
        if constexpr (core::is_gpu<Executor>) {
            return {};
        } else {
            if (lanes != ready_) {
                threads_.clear();
                wide_ = of(lanes);
                ready_ = lanes;
            }
            const auto fewest = (values.count + executor.threads() - 1) / executor.threads();
            const index_t at_a_time = std::min(lanes, fewest);
            const index_t tasks = (values.count + at_a_time - 1) / at_a_time;
            const auto count = static_cast<int>(std::min<index_t>(executor.threads(), tasks));
            while (static_cast<int>(threads_.size()) < count) {
                threads_.emplace_back(setup_.planned(wide_->program), lanes, setup_.options.tier);
            }
            const Arguments shared = wide_arguments(executor, values, lanes);
            return deal_out(executor, threads_, count, tasks,
                            [&](Thread& thread, index_t task, auto& failed) {
                                const index_t begin = task * at_a_time;
                                run_lanes(thread, values, shared, begin,
                                          std::min(at_a_time, values.count - begin), failed);
                            });
        }
    }
    void run_lanes(Thread& thread, const SweepValues<Executor>& values, Arguments arguments,
                   index_t begin, index_t count, std::vector<FailedValue>& failed) const {
        const Program& program = wide_->program;
        const auto memory = [&](const Type& type) {
            auto& bytes = thread.memory.emplace_back(static_cast<std::size_t>(type.bytes()));
            return bytes.data();
        };
        thread.memory.clear();
        for (const std::string& name : setup_.parameters) {
            Argument& argument = arguments[name];
            argument = {memory(argument.type), argument.type};
            const std::vector<std::byte> numbers = of_problems(values, name, begin, count);
            std::copy(numbers.begin(), numbers.end(), static_cast<std::byte*>(argument.data));
        }
        std::vector<Argument> results;
        for (const SymbolId id : returned(program)) {
            results.push_back({memory(program[id].type), program[id].type});
        }
        const LaneRuns::Run run =
            thread.runs.run(thread.alone, arguments, results, setup_.parameters, count);
        const auto result_of = [&](std::size_t i, index_t value) {
            return static_cast<std::byte*>(piece(values.results[i], begin + value).data);
        };
        for (std::size_t i = 0; i < results.size(); ++i) {
            // A scalar of a program with batches is there for each problem.
            const index_t bytes = values.results[i].type.bytes(),
                          apart = results[i].type.bytes() / ready_;
            const auto* const from = static_cast<const std::byte*>(results[i].data);
            for (index_t place = 0; place < count; ++place) {
                const index_t value = run.values[static_cast<std::size_t>(place)];
                std::copy_n(from + place * apart, bytes, result_of(i, value));
            }
        }
        for (const FailedValue& one : run.failed) {
            failed.push_back({begin + one.number, one.message});
        }
    }

    /// So many at a time. The last ones overlap those before.
    void run_one_way(Executor& executor, SweepValues<Executor>& values, index_t lanes) {
        if (lanes != ready_) {
            executable_.reset();
            ready_ = 0;
            wide_ = of(lanes);
            executable_.emplace(executor, setup_.planned(wide_->program), setup_.options.tier);
            ready_ = lanes;
        }
        const Program& program = wide_->program;
        Arguments arguments = wide_arguments(executor, values, lanes);
        std::map<std::string, std::byte*> of_parameters;
        for (const std::string& name : setup_.parameters) {
            of_parameters[name] =
                there(executor, values, of_problems(values, name, 0, values.count));
        }
        for (index_t first = 0; first < values.count; first += lanes) {
            const index_t begin = std::min(first, values.count - lanes);
            const std::vector<Argument> wanted = results_of(values.results, begin);
            std::vector<Argument> results = wanted;
            const std::vector<SymbolId>& ids = returned(program);
            for (std::size_t i = 0; i < results.size(); ++i) {
                results[i].type = program[ids[i]].type;
                if (is_for_each_problem(wanted[i])) {
                    results[i].data = allocate(values, results[i].type.bytes());
                }
            }
            for (const auto& [name, all] : of_parameters) {
                Argument& argument = arguments[name];
                argument.data = all + begin * (argument.type.bytes() / lanes);
            }
            executable_->run(executor, arguments, results);
            for (std::size_t i = 0; i < results.size(); ++i) {
                if (is_for_each_problem(wanted[i])) {
                    take_first_problems(executor, results[i], wanted[i], lanes);
                }
            }
        }
    }
    /// A scalar of a program with several problems.
    bool is_for_each_problem(const Argument& result) const {
        return result.type.is_scalar() && wide_->problems > 1;
    }
    void take_first_problems(Executor& executor, const Argument& all, const Argument& to,
                             index_t lanes) const {
        const index_t bytes = to.type.bytes(), apart = all.type.bytes() / lanes;
        std::vector<std::byte> host(static_cast<std::size_t>(all.type.bytes()));
        copy_bytes(executor, all.data, host.data(), all.type.bytes());
        executor.synchronize();
        for (index_t i = 1; i < lanes; ++i) {
            std::copy_n(&host[static_cast<std::size_t>(i * apart)], bytes,
                        &host[static_cast<std::size_t>(i * bytes)]);
        }
        copy_bytes(executor, host.data(), to.data, lanes * bytes);
        executor.synchronize();
    }

    /// All but the parameters' memory.
    Arguments wide_arguments(Executor& executor, SweepValues<Executor>& values,
                             index_t lanes) const {
        Arguments arguments = taken_by(setup_.programs.members, values.arguments);
        for (auto& [name, argument] : arguments) {
            if (argument.type.kind != Kind::batch) continue;
            argument.data = repeated(executor, values, argument, lanes);
        }
        if (wide_->has_truths) {
            const SymbolId id = wide_->program.find(name_of_truths);
            const auto count = static_cast<std::size_t>(wide_->program[id].type.size());
            arguments[name_of_truths].data =
                there(executor, values, std::vector(count, std::byte{1}));
        }
        for (const Symbol& symbol : wide_->program.symbols) {
            if (symbol.source != Source::input) continue;
            arguments[symbol.name].type = symbol.type;
            arguments[symbol.name].is_constant = true;
        }
        return arguments;
    }
    /// A parameter's values from `begin` on, each as often as it has problems.
    std::vector<std::byte> of_problems(const SweepValues<Executor>& values, const std::string& name,
                                       index_t begin, index_t count) const {
        const Argument& argument = values.arguments.at(name);
        const index_t bytes = bytes_of(argument.type.dtype),
                      times = std::max<index_t>(wide_->problems, 1);
        std::vector<std::byte> all;
        all.reserve(static_cast<std::size_t>(count * times * bytes));
        for (index_t i = 0; i < count * times; ++i) {
            const auto* const value =
                static_cast<const std::byte*>(argument.data) + (begin + i / times) * bytes;
            all.insert(all.end(), value, value + bytes);
        }
        return all;
    }
    static std::byte* allocate(SweepValues<Executor>& values, index_t bytes) {
        values.arrays.emplace_back(core::Extents<1>{bytes});
        return values.arrays.back().data();
    }
    /// A copy in the executor's memory.
    static std::byte* there(Executor& executor, SweepValues<Executor>& values,
                            const std::vector<std::byte>& numbers) {
        const auto bytes = static_cast<index_t>(numbers.size());
        std::byte* const to = allocate(values, bytes);
        copy_bytes(executor, numbers.data(), to, bytes);
        executor.synchronize();
        return to;
    }
    static std::byte* repeated(Executor& executor, SweepValues<Executor>& values,
                               const Argument& argument, index_t times) {
        const index_t bytes = argument.type.bytes(), all = bytes * times;
        std::byte* const to = allocate(values, all);
        copy_bytes(executor, argument.data, to, bytes);
        for (index_t done = bytes; done < all; done *= 2) {
            copy_bytes(executor, to, to + done, std::min(done, all - done));
        }
        return to;
    }

    const SweepSetup& setup_;
    Ways ways_ = Ways::one;
    std::optional<WideProgram> wide_;
    index_t ready_ = 0;  ///< lanes for which there is machine code
    std::optional<Executable<Executor>> executable_;
    std::deque<Thread> threads_;
};

}  // namespace aperture::compose
