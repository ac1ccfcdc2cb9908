// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aperture/compose/sweep.hpp"
#include "aperture/compose/tune.hpp"
#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/interpreter.hpp"
#include "libcompose/kernels/arguments.hpp"
#include "libcompose/lane_runs.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/search.hpp"
#include "libcompose/side_by_side.hpp"
#include "libcompose/sweep_programs.hpp"

namespace aperture::compose {

/// Values of each parameter. Throws InvalidArgument unless there are as many of all of them.
index_t count_values(const Program& program, std::span<const std::string> parameters,
                     const Arguments& arguments);

/// What a task, the run of `members` for a value, has.
SweepTraits traits_of(const SplitProgram& programs, const Plan& members, const WideProgram* wide,
                      std::span<const std::string> parameters, index_t values);

/// Results of a run that failed.
std::vector<std::byte> failed_numbers(const Type& type);

/// Argument number `number` of `argument.type` one after another.
inline Argument piece(Argument argument, index_t number) {
    if (argument.data != nullptr) {
        argument.data = static_cast<std::byte*>(argument.data) + number * argument.type.bytes();
    }
    return argument;
}

template <class Executor>
struct Sweep<Executor>::State {
    State(Executor& executor, const Program& program, const Registry& of_program,
          std::vector<std::string> of_sweep, const SweepOptions& of_user)
        : registry(of_program),
          parameters(std::move(of_sweep)),
          options(of_user),
          programs(split(program, registry, parameters)),
          machine(of_user.machine ? *of_user.machine : measured_machine(executor)),
          members(planned(programs.members)),
          wide(widened(programs.members, registry, parameters, 1)) {
        if (!wide && !core::is_gpu<Executor>) {
            wide = widened(programs.members, registry, parameters, 1, Ways::own);
        }
        for (const SplitProgram::Result& result : programs.results) {
            reached.push_back(result.has_axis);
        }
        const std::vector<SymbolId>& values = returned(programs.common);
        if (!values.empty()) common.emplace(executor, planned(programs.common), options.tier);
        const auto results = std::count(reached.begin(), reached.end(), false);
        for (auto i = static_cast<std::size_t>(results); i < values.size(); ++i) {
            own.emplace_back(core::Extents<1>{programs.common[values[i]].type.bytes()});
        }
    }

    Swept run(Executor& executor, const Arguments& arguments, std::span<const Argument> results) {
        Values values{count_values(programs.members, parameters, arguments), arguments, {}, {}};
        core::expects(results.size() == reached.size(), "the program returns ", reached.size(),
                      " values, not ", results.size());
        std::vector<Argument> of_common;
        for (std::size_t i = 0; i < results.size(); ++i) {
            (reached[i] ? values.results : of_common).push_back(results[i]);
        }
        run_common(executor, values, std::move(of_common));
        validate(programs.members, arguments_of(values, 0), results_of(values, 0));

        const Way way = way_of(executor, values.count);
        Swept swept{way.axis, way.scheme, {}};
        const auto run_of = [&](index_t value) {
            return ValueRun{arguments_of(values, value), results_of(values, value)};
        };
        if (way.axis == SweepAxis::lanes) {
            if (wide->program.has_own_ways) {
                swept.failed = run_own_ways(executor, values, way.at_a_time);
            } else {
                run_in_lanes(executor, values, way.at_a_time);
            }
        } else if (way.axis == SweepAxis::side_by_side) {
            if (!side_by_side) side_by_side.emplace(members, options.tier);
            swept.failed = side_by_side->run(executor, values.count, way.at_a_time, run_of);
        } else {
            if (!one_by_one) one_by_one.emplace(executor, members, options.tier);
            for (index_t i = 0; i < values.count; ++i) {
                run_value(executor, *one_by_one, i, run_of(i), swept.failed);
            }
        }
        for (const Argument& result : values.results) {
            const std::vector<std::byte> numbers = failed_numbers(result.type);
            for (const FailedValue& one : swept.failed) {
                copy_bytes(executor, numbers.data(), piece(result, one.number).data,
                           result.type.bytes());
            }
            executor.synchronize();
        }
        return swept;
    }

    std::string explain(const Executor& executor, index_t count) const {
        const Way way = way_of(executor, count);
        std::string text;
        if (common) text += "once:\n" + compose::explain(common->plan());
        text += core::text("for ", count, " values, ", name_of(way.axis), ", ", way.at_a_time,
                           " at a time; ", way.scheme.reason, ":\n");
        if (way.axis != SweepAxis::lanes) return text + compose::explain(members);
        const auto lanes = widened(programs.members, registry, parameters, way.at_a_time,
                                   wide->program.has_own_ways ? Ways::own : Ways::one);
        return text + compose::explain(planned(lanes->program));
    }

    /// How values are dealt out.
    struct Way {
        SchemeChoice scheme;
        SweepAxis axis;
        index_t at_a_time;
    };

    using Bytes = core::Array<std::byte, 1, typename Executor::Space>;
    /// Of one run.
    struct Values {
        index_t count;
        Arguments arguments;  ///< with what the common program returned
        std::vector<Argument> results;
        std::vector<Bytes> arrays;  ///< that live as long as the run
    };
    /// A thread of a CPU with what it runs for values that go their own ways.
    struct LaneThread {
        LaneThread(const Plan& plan, index_t lanes, Tier tier)
            : alone(1), runs(alone, plan, lanes, tier) {}
        core::Cpu alone;
        LaneRuns runs;
        std::deque<std::vector<std::byte>> memory{};
    };

    Plan planned(const Program& program) const {
        return plan(program, registry, options.fusion, machine);
    }
    double cache_bytes() const {
        constexpr double usual = 32 << 20;
        return machine.cache_bytes > 0 ? machine.cache_bytes : usual;
    }
    /// Values that run at a time, side by side: as many as there are threads, or as the caches of a
    /// GPU hold.
    index_t width_of(const Executor& executor, const SweepTraits& traits) const {
        index_t most = 1;
        if constexpr (core::is_gpu<Executor>) {
            const double fit = cache_bytes() / std::max(traits.own_bytes, 1.0);
            most = static_cast<index_t>(std::clamp<double>(fit, 1, kernels::most_values));
        } else {
            most = executor.threads();
        }
        return std::min(most, traits.tasks);
    }
    Way way_of(const Executor& executor, index_t values) const {
        const SweepTraits traits =
            traits_of(programs, members, wide ? &*wide : nullptr, parameters, values);
        Way way{choose_scheme(traits, machine), SweepAxis::one_by_one, 1};
        const index_t width = width_of(executor, traits);
        way.axis = options.axis ? *options.axis : axis_of(executor, traits, way.scheme, width);
        core::expects(wide || way.axis != SweepAxis::lanes, "sweep: ", programs.members.name,
                      " cannot have values in lanes");
        if (way.axis == SweepAxis::side_by_side) way.at_a_time = width;
        if (way.axis == SweepAxis::lanes) {
            // Of a thread where values go their own ways, however many there are.
            constexpr index_t enough = 4096;
            way.at_a_time =
                std::min(lanes_that_fit(traits), wide->program.has_own_ways ? enough : values);
        }
        return way;
    }
    SweepAxis axis_of(const Executor& executor, const SweepTraits& traits,
                      const SchemeChoice& scheme, index_t width) const {
        if (scheme.scheme == Scheme::interleaved && wide) return SweepAxis::lanes;
        if (width == 1) return SweepAxis::one_by_one;
        if constexpr (core::is_gpu<Executor>) {
            (void)executor;
            return may_be_side_by_side(members) ? SweepAxis::side_by_side : SweepAxis::one_by_one;
        } else {
            const auto kernels = members.kernels();
            const bool are_small =
                std::all_of(kernels.begin(), kernels.end(),
                            [](const Kernel* one) { return work_of(*one) < least_parallel; });
            const bool fit = width == executor.threads() &&
                             traits.own_bytes * static_cast<double>(width) <= cache_bytes();
            return are_small || fit ? SweepAxis::side_by_side : SweepAxis::one_by_one;
        }
    }
    index_t lanes_that_fit(const SweepTraits& traits) const {
        constexpr index_t lanes = 32;
        const double bytes = std::max(traits.own_bytes + traits.arranged_bytes, 1.0);
        return std::max(static_cast<index_t>(cache_bytes() / bytes) / lanes * lanes, lanes);
    }

    /// Adds what it computes to the arguments.
    void run_common(Executor& executor, Values& values, std::vector<Argument> results) {
        if (!common) return;
        const std::vector<SymbolId>& ids = returned(programs.common);
        for (Bytes& array : own) {
            results.push_back({array.data(), programs.common[ids[results.size()]].type});
        }
        common->run(executor, of(programs.common, values.arguments), results);
        scalars.clear();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Symbol& symbol = programs.common[ids[i]];
            if (symbol.source == Source::input) continue;
            Argument result = results[i];
            result.is_constant = true;
            if (core::is_gpu<Executor> && symbol.type.is_scalar()) {
                // Executables read it on the host.
                scalars.emplace_back(static_cast<std::size_t>(symbol.type.bytes()));
                copy_bytes(executor, result.data, scalars.back().data(), symbol.type.bytes());
                executor.synchronize();
                result.data = scalars.back().data();
            }
            values.arguments[symbol.name] = result;
        }
    }

    /// Those that a part of the program takes.
    static Arguments of(const Program& program, const Arguments& arguments) {
        Arguments all;
        for (const Symbol& symbol : program.symbols) {
            const auto found = arguments.find(symbol.name);
            if (symbol.source == Source::input && found != arguments.end()) all.insert(*found);
        }
        return all;
    }
    Arguments arguments_of(const Values& values, index_t value) const {
        Arguments all = of(programs.members, values.arguments);
        for (const std::string& name : parameters) {
            Argument& argument = all.at(name);
            argument.type = scalar(argument.type.dtype);
            argument.is_constant = true;
            argument = piece(argument, value);
        }
        return all;
    }
    static std::vector<Argument> results_of(const Values& values, index_t value) {
        std::vector<Argument> all;
        for (const Argument& result : values.results) all.push_back(piece(result, value));
        return all;
    }

    /// Values that go their own ways: on each thread at most `lanes` at a time.
    std::vector<FailedValue> run_own_ways(Executor& executor, Values& values, index_t lanes) {
        if constexpr (core::is_gpu<Executor>) {
            return {};
        } else {
            if (lanes != lanes_ready) {
                own_ways.clear();
                wide = widened(programs.members, registry, parameters, lanes, Ways::own);
                lanes_ready = lanes;
            }
            const auto fewest = (values.count + executor.threads() - 1) / executor.threads();
            const index_t at_a_time = std::min(lanes, fewest);
            const index_t tasks = (values.count + at_a_time - 1) / at_a_time;
            const auto count = static_cast<int>(std::min<index_t>(executor.threads(), tasks));
            while (static_cast<int>(own_ways.size()) < count) {
                own_ways.emplace_back(planned(wide->program), lanes, options.tier);
            }
            const Arguments shared = wide_arguments(executor, values, lanes);
            return deal_out(executor, own_ways, count, tasks,
                            [&](LaneThread& thread, index_t task, auto& failed) {
                                const index_t begin = task * at_a_time;
                                run_lanes(thread, values, shared, begin,
                                          std::min(at_a_time, values.count - begin), failed);
                            });
        }
    }
    void run_lanes(LaneThread& thread, const Values& values, Arguments arguments, index_t begin,
                   index_t count, std::vector<FailedValue>& failed) const {
        const Program& program = wide->program;
        const auto memory = [&](const Type& type) {
            auto& bytes = thread.memory.emplace_back(static_cast<std::size_t>(type.bytes()));
            return bytes.data();
        };
        thread.memory.clear();
        for (const std::string& name : parameters) {
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
            thread.runs.run(thread.alone, arguments, results, parameters, count);
        const auto result_of = [&](std::size_t i, index_t value) {
            return static_cast<std::byte*>(piece(values.results[i], begin + value).data);
        };
        for (std::size_t i = 0; i < results.size(); ++i) {
            // A scalar of a program with batches is there for each problem.
            const index_t bytes = values.results[i].type.bytes(),
                          apart = results[i].type.bytes() / lanes_ready;
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
    void run_in_lanes(Executor& executor, Values& values, index_t lanes) {
        if (lanes != lanes_ready) {
            in_lanes.reset();
            lanes_ready = 0;
            wide = widened(programs.members, registry, parameters, lanes);
            core::expects(wide.has_value(), "sweep: ", lanes, " values are too many for lanes");
            in_lanes.emplace(executor, planned(wide->program), options.tier);
            lanes_ready = lanes;
        }
        const Program& program = wide->program;
        Arguments arguments = wide_arguments(executor, values, lanes);
        std::map<std::string, std::byte*> of_parameters;
        for (const std::string& name : parameters) {
            of_parameters[name] =
                there(executor, values, of_problems(values, name, 0, values.count));
        }
        for (index_t first = 0; first < values.count; first += lanes) {
            const index_t begin = std::min(first, values.count - lanes);
            const std::vector<Argument> wanted = results_of(values, begin);
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
            in_lanes->run(executor, arguments, results);
            for (std::size_t i = 0; i < results.size(); ++i) {
                if (is_for_each_problem(wanted[i])) {
                    take_first_problems(executor, results[i], wanted[i], lanes);
                }
            }
        }
    }
    /// A scalar of a program with several problems.
    bool is_for_each_problem(const Argument& result) const {
        return result.type.is_scalar() && wide->problems > 1;
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
    Arguments wide_arguments(Executor& executor, Values& values, index_t lanes) const {
        Arguments arguments = of(programs.members, values.arguments);
        for (auto& [name, argument] : arguments) {
            if (argument.type.kind != Kind::batch) continue;
            argument.data = repeated(executor, values, argument, lanes);
        }
        if (wide->has_truths) {
            const SymbolId id = wide->program.find(name_of_truths);
            const auto count = static_cast<std::size_t>(wide->program[id].type.size());
            arguments[name_of_truths].data =
                there(executor, values, std::vector(count, std::byte{1}));
        }
        for (const Symbol& symbol : wide->program.symbols) {
            if (symbol.source != Source::input) continue;
            arguments[symbol.name].type = symbol.type;
            arguments[symbol.name].is_constant = true;
        }
        return arguments;
    }
    /// A parameter's values from `begin` on, each as often as it has problems.
    std::vector<std::byte> of_problems(const Values& values, const std::string& name, index_t begin,
                                       index_t count) const {
        const Argument& argument = values.arguments.at(name);
        const index_t bytes = bytes_of(argument.type.dtype),
                      times = std::max<index_t>(wide->problems, 1);
        std::vector<std::byte> all;
        all.reserve(static_cast<std::size_t>(count * times * bytes));
        for (index_t i = 0; i < count * times; ++i) {
            const auto* const value =
                static_cast<const std::byte*>(argument.data) + (begin + i / times) * bytes;
            all.insert(all.end(), value, value + bytes);
        }
        return all;
    }
    static std::byte* allocate(Values& values, index_t bytes) {
        values.arrays.emplace_back(core::Extents<1>{bytes});
        return values.arrays.back().data();
    }
    /// A copy in the executor's memory.
    static std::byte* there(Executor& executor, Values& values,
                            const std::vector<std::byte>& numbers) {
        const auto bytes = static_cast<index_t>(numbers.size());
        std::byte* const to = allocate(values, bytes);
        copy_bytes(executor, numbers.data(), to, bytes);
        executor.synchronize();
        return to;
    }
    static std::byte* repeated(Executor& executor, Values& values, const Argument& argument,
                               index_t times) {
        const index_t bytes = argument.type.bytes(), all = bytes * times;
        std::byte* const to = allocate(values, all);
        copy_bytes(executor, argument.data, to, bytes);
        for (index_t done = bytes; done < all; done *= 2) {
            copy_bytes(executor, to, to + done, std::min(done, all - done));
        }
        return to;
    }

    Registry registry;
    std::vector<std::string> parameters;
    SweepOptions options;
    SplitProgram programs;
    Machine machine;
    Plan members;
    std::optional<WideProgram> wide;
    std::vector<bool> reached;
    std::optional<Executable<Executor>> common, one_by_one, in_lanes;
    index_t lanes_ready = 0;
    std::optional<SideBySide<Executor>> side_by_side;
    std::deque<LaneThread> own_ways;
    std::vector<Bytes> own;  ///< of what the common program returns to members
    std::vector<std::vector<std::byte>> scalars;
};

template <class Executor>
Sweep<Executor>::Sweep(Executor& executor, const Program& program, const Registry& registry,
                       std::vector<std::string> parameters, const SweepOptions& options)
    : state_(std::make_unique<State>(executor, program, registry, std::move(parameters), options)) {
}
template <class Executor>
Sweep<Executor>::~Sweep() = default;
template <class Executor>
Sweep<Executor>::Sweep(Sweep&&) noexcept = default;
template <class Executor>
Sweep<Executor>& Sweep<Executor>::operator=(Sweep&&) noexcept = default;

template <class Executor>
Swept Sweep<Executor>::run(Executor& executor, const Arguments& arguments,
                           std::span<const Argument> results) {
    return state_->run(executor, arguments, results);
}
template <class Executor>
std::string Sweep<Executor>::explain(const Executor& executor, index_t values) const {
    core::expects(values > 0, "sweep: the list of values is empty");
    return state_->explain(executor, values);
}
template <class Executor>
const std::vector<bool>& Sweep<Executor>::reached() const {
    return state_->reached;
}

}  // namespace aperture::compose
