// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
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
#include "libcompose/memory.hpp"
#include "libcompose/search.hpp"
#include "libcompose/side_by_side.hpp"
#include "libcompose/sweep_lanes.hpp"

namespace aperture::compose {

/// Values of each parameter. Throws InvalidArgument unless there are as many of all of them.
index_t count_values(const Program& program, std::span<const std::string> parameters,
                     const Arguments& arguments);

/// What a task, the run of `members` for a value, has.
SweepTraits traits_of(const SplitProgram& programs, const Plan& members,
                      const std::optional<WideProgram>& wide,
                      std::span<const std::string> parameters, index_t values);

/// Results of a run that failed.
std::vector<std::byte> failed_numbers(const Type& type);

template <class Executor>
struct Sweep<Executor>::State {
    State(Executor& executor, SweepSetup of_sweep)
        : setup(std::move(of_sweep)), members(setup.planned(setup.programs.members)), lanes(setup) {
        for (const SplitProgram::Result& result : setup.programs.results) {
            reached.push_back(result.has_axis);
        }
        const Program& once = setup.programs.common;
        const std::vector<SymbolId>& values = returned(once);
        if (!values.empty()) common.emplace(executor, setup.planned(once), setup.options.tier);
        const auto results = std::count(reached.begin(), reached.end(), false);
        for (auto i = static_cast<std::size_t>(results); i < values.size(); ++i) {
            own.emplace_back(core::Extents<1>{once[values[i]].type.bytes()});
        }
    }

    Swept run(Executor& executor, const Arguments& arguments, std::span<const Argument> results) {
        Values values{
            count_values(setup.programs.members, setup.parameters, arguments), arguments, {}};
        core::expects(results.size() == reached.size(), "the program returns ", reached.size(),
                      " values, not ", results.size());
        std::vector<Argument> of_common;
        for (std::size_t i = 0; i < results.size(); ++i) {
            (reached[i] ? values.results : of_common).push_back(results[i]);
        }
        run_common(executor, values, std::move(of_common));
        validate(setup.programs.members, arguments_of(values, 0), results_of(values.results, 0));

        const Way way = way_of(executor, values.count);
        Swept swept{way.axis, way.scheme, {}};
        const auto run_of = [&](index_t value) {
            return ValueRun{arguments_of(values, value), results_of(values.results, value)};
        };
        if (way.axis == SweepAxis::lanes) {
            swept.failed = lanes.run(executor, values, way.at_a_time);
        } else if (way.axis == SweepAxis::side_by_side) {
            if (!side_by_side) side_by_side.emplace(members, setup.options.tier);
            swept.failed = side_by_side->run(executor, values.count, way.at_a_time, run_of);
        } else {
            if (!one_by_one) one_by_one.emplace(executor, members, setup.options.tier);
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
        return text + compose::explain(setup.planned(lanes.of(way.at_a_time).program));
    }

    /// How values are dealt out.
    struct Way {
        SchemeChoice scheme;
        SweepAxis axis;
        index_t at_a_time;
    };

    using Values = SweepValues<Executor>;

    double cache_bytes() const {
        constexpr double usual = 32 << 20;
        return setup.machine.cache_bytes > 0 ? setup.machine.cache_bytes : usual;
    }
    /// Values that run at a time, side by side: as many as there are threads, or as the caches of a
    /// GPU hold.
    index_t width_of(const Executor& executor, const SweepTraits& traits) const {
        index_t most = 1;
        if constexpr (core::is_gpu<Executor>) {
            const double fit =
                (cache_bytes() - traits.common_bytes) / std::max(traits.own_bytes, 1.0);
            most = static_cast<index_t>(std::clamp<double>(fit, 1, kernels::most_values));
        } else {
            most = executor.threads();
        }
        return std::min(most, traits.tasks);
    }
    Way way_of(const Executor& executor, index_t values) const {
        const SweepTraits traits =
            traits_of(setup.programs, members, lanes.program(), setup.parameters, values);
        Way way{choose_scheme(traits, setup.machine), SweepAxis::one_by_one, 1};
        const index_t width = width_of(executor, traits);
        way.axis =
            setup.options.axis ? *setup.options.axis : axis_of(executor, traits, way.scheme, width);
        core::expects(lanes.program() || way.axis != SweepAxis::lanes,
                      "sweep: ", setup.programs.members.name, " cannot have values in lanes");
        if (way.axis == SweepAxis::side_by_side) way.at_a_time = width;
        if (way.axis == SweepAxis::lanes) {
            // Of a thread where values go their own ways, however many there are.
            constexpr index_t enough = 4096;
            way.at_a_time = std::min(lanes_that_fit(traits),
                                     lanes.program()->program.has_own_ways ? enough : values);
        }
        return way;
    }
    SweepAxis axis_of(const Executor& executor, const SweepTraits& traits,
                      const SchemeChoice& scheme, index_t width) const {
        if (scheme.scheme == Scheme::interleaved && lanes.program()) return SweepAxis::lanes;
        if (width == 1) return SweepAxis::one_by_one;
        if constexpr (core::is_gpu<Executor>) {
            (void)executor;
            return may_be_side_by_side(members) ? SweepAxis::side_by_side : SweepAxis::one_by_one;
        } else {
            const auto kernels = members.kernels();
            const bool are_small =
                std::all_of(kernels.begin(), kernels.end(),
                            [](const Kernel* one) { return work_of(*one) < least_parallel; });
            const double bytes =
                traits.common_bytes + traits.own_bytes * static_cast<double>(width);
            const bool fit = width == executor.threads() && bytes <= cache_bytes();
            return are_small || fit ? SweepAxis::side_by_side : SweepAxis::one_by_one;
        }
    }
    index_t lanes_that_fit(const SweepTraits& traits) const {
        constexpr index_t fewest = 32;
        const double bytes = std::max(traits.own_bytes + traits.arranged_bytes, 1.0);
        return std::max(static_cast<index_t>(cache_bytes() / bytes) / fewest * fewest, fewest);
    }

    /// Adds what it computes to the arguments.
    void run_common(Executor& executor, Values& values, std::vector<Argument> results) {
        if (!common) return;
        const std::vector<SymbolId>& ids = returned(setup.programs.common);
        for (Bytes& array : own) {
            results.push_back({array.data(), setup.programs.common[ids[results.size()]].type});
        }
        common->run(executor, taken_by(setup.programs.common, values.arguments), results);
        scalars.clear();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Symbol& symbol = setup.programs.common[ids[i]];
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

    Arguments arguments_of(const Values& values, index_t value) const {
        Arguments all = taken_by(setup.programs.members, values.arguments);
        for (const std::string& name : setup.parameters) {
            Argument& argument = all.at(name);
            argument.type = scalar(argument.type.dtype);
            argument.is_constant = true;
            argument = piece(argument, value);
        }
        return all;
    }
    SweepSetup setup;
    Plan members;
    Lanes<Executor> lanes;
    std::vector<bool> reached;
    std::optional<Executable<Executor>> common, one_by_one;
    std::optional<SideBySide<Executor>> side_by_side;
    using Bytes = core::Array<std::byte, 1, typename Executor::Space>;
    std::vector<Bytes> own;  ///< of what the common program returns to members
    std::vector<std::vector<std::byte>> scalars;
};

template <class Executor>
Sweep<Executor>::Sweep(Executor& executor, const Program& program, const Registry& registry,
                       std::vector<std::string> parameters, const SweepOptions& options)
    : state_(std::make_unique<State>(
          executor, SweepSetup{registry, parameters, options, split(program, registry, parameters),
                               options.machine ? *options.machine : measured_machine(executor)})) {}
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
