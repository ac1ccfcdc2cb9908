// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/compose/plan.hpp"
#include "aperture/compose/sweep.hpp"
#include "aperture/compose/text_operation.hpp"
#include "aperture/compose/tune.hpp"
#include "aperture/compose_operations/flow.hpp"
#include "aperture/compose_operations/stap.hpp"
#include "aperture/core/choices.hpp"
#include "aperture/core/error.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

constexpr core::Choices<compose::Tier, 3> tiers{{{"automatic", compose::Tier::automatic},
                                                 {"interpreted", compose::Tier::interpreted},
                                                 {"compiled", compose::Tier::compiled}}};

constexpr core::Choices<compose::Border, 2> borders{
    {{"replicate", compose::Border::replicate}, {"zero", compose::Border::zero}}};

/// Of an operation with a body: name, type of the numbers, or "" for T; rows above and below,
/// columns left and right, all zero without a halo; border.
using BodyOperand = std::tuple<std::string, std::string, std::array<int, 4>, std::string>;
/// Name, operands; names of results, of which there is one without a name if the body returns it;
/// their type, or "" for T; body.
using BodyOperation = std::tuple<std::string, std::vector<BodyOperand>, std::vector<std::string>,
                                 std::string, std::string>;

/// The operations that a program can call.
compose::Registry registry_with(const std::vector<BodyOperation>& operations) {
    compose::Registry all;
    compose::add_flow(all);
    compose::add_stap(all);
    for (const auto& [name, operands, results, result_type, body] : operations) {
        compose::OperationText text;
        for (const auto& [operand, dtype, around, border] : operands) {
            compose::TextOperand& added = text.operands.emplace_back();
            added.name = operand;
            added.dtype = compose::dtype_named(dtype);
            added.border = core::parse_choice("border", borders, border);
            const auto [above, below, left, right] = around;
            const compose::Access halo{compose::Access::Kind::halo, above, below, left, right};
            if (around != std::array<int, 4>{}) added.halo = halo;
        }
        text.results.clear();
        for (const std::string& result : results) {
            text.results.push_back({result, compose::dtype_named(result_type)});
        }
        text.body = body;
        all.add(name, compose::text_operation(std::move(text)));
    }
    return all;
}

#if !APERTURE_PYTHON_GPU
/// Of a type: kind, type of its numbers, extents.
using TypeParts = std::tuple<std::string, std::string, std::vector<compose::index_t>>;

/// Of the first call of a text: the types of its results, whatever they are declared as, and for
/// each operand whether the call reads it beyond the place that it computes.
std::pair<std::vector<TypeParts>, std::vector<bool>> types_of_call(
    const std::string& text, const std::vector<BodyOperation>& operations) {
    const compose::Program program = compose::parse(text);
    const auto* const call = program.statements.empty()
                                 ? nullptr
                                 : std::get_if<compose::Call>(&program.statements[0].what);
    core::expects(call != nullptr, "the text begins with no call");
    core::expects(call->operands.size() <= compose::most_operands, call->operation,
                  " has more than ", compose::most_operands, " operands");
    const compose::Registry registry = registry_with(operations);
    const compose::Match match = registry.find(call->operation)->match({program, *call});
    std::vector<TypeParts> results;
    for (const compose::Type& type : match.results) {
        results.emplace_back(name_of(type.kind), name_of(type.dtype),
                             std::vector(type.extent.begin(), type.extent.begin() + type.rank));
    }
    std::vector<bool> beyond;
    for (const compose::Access& access : match.accesses) {
        beyond.push_back(access.kind != compose::Access::Kind::point);
    }
    return {std::move(results), std::move(beyond)};
}
#endif

/// Contiguous numbers of any type; of rank 0 for scalars, which are arguments in host memory.
/// Programs write only those of symbols in place.
using Numbers = nb::ndarray<nb::ro, nb::c_contig>;

nb::dlpack::dtype dtype_of(compose::Dtype dtype) {
    switch (dtype) {
        case compose::Dtype::f32:
            return nb::dtype<float>();
        case compose::Dtype::f64:
            return nb::dtype<double>();
        case compose::Dtype::c64:
            return nb::dtype<std::complex<float>>();
        case compose::Dtype::c128:
            return nb::dtype<std::complex<double>>();
        case compose::Dtype::i64:
            return nb::dtype<std::int64_t>();
        case compose::Dtype::boolean:
            return nb::dtype<bool>();
    }
    return {};
}

/// A text's program, planned.
template <class Worker>
class ComposedProgramOn {
  public:
    /// `fusion`: a word of `compose::fusion_choices`, or "tuned". `where`: the number of threads,
    /// or of the GPU.
    ComposedProgramOn(const std::string& text, const std::vector<BodyOperation>& operations,
                      const std::string& fusion, const std::string& tier, int where)
        : worker_(where),
          registry_(registry_with(operations)),
          is_tuned_(fusion == "tuned"),
          plan_(plan_of(text, fusion)),
          tier_(core::parse_choice("tier", tiers, tier)) {}

    std::string explanation() const { return compose::explain(plan_); }

    /// Why kernels are interpreted although that was not asked for; empty if they are not, or if
    /// nothing has run.
    std::string reason_of_interpretation() const {
        if (!executable_ || tier_ != compose::Tier::automatic) return "";
        return executable_->reason_of_interpretation();
    }

    /// `given`: the arguments in the order of their symbols; `results`: in that of return. The
    /// first run compiles kernels, and chooses the plan of a program that is tuned.
    void run(std::uintptr_t stream, const std::vector<Numbers>& given,
             const std::vector<Numbers>& results) {
        const Memory memory = memory_of(given, results);
        worker_.run(stream, [&] {
            if (!executable_ && is_tuned_) return tune(memory);
            executable().run(worker_.executor(), memory.arguments, memory.results);
        });
    }

    /// The same by kernels that are timed one by one; returns what they are, with the times that
    /// were predicted and measured.
    std::string run_and_explain(std::uintptr_t stream, const std::vector<Numbers>& given,
                                const std::vector<Numbers>& results) {
        const Memory memory = memory_of(given, results);
        return worker_.run(stream, [&] {
            if (!executable_ && is_tuned_) tune(memory);
            return compose::explain(
                executable().plan(), compose::measured_machine(worker_.executor()),
                executable().kernel_seconds(worker_.executor(), memory.arguments, memory.results));
        });
    }

    /// For each result, whether one of these inputs, by their numbers, reaches it.
    std::vector<bool> reached(const std::vector<std::size_t>& inputs) {
        return worker_.run([&] { return std::vector(sweep_of(inputs).reached()); });
    }

    /// Runs for each of several values of these inputs, of which `given` has one after the other,
    /// in host memory, as have the results that they reach. Returns the values that failed, and
    /// why.
    std::vector<std::pair<index_t, std::string>> sweep(std::uintptr_t stream,
                                                       const std::vector<Numbers>& given,
                                                       const std::vector<Numbers>& results,
                                                       const std::vector<std::size_t>& inputs) {
        const std::vector<bool> with_axis = reached(inputs);
        const Memory memory = memory_of(given, results, inputs, with_axis);
        const compose::Swept swept = worker_.run(stream, [&] {
            return sweep_of(inputs).run(worker_.executor(), memory.arguments, memory.results);
        });
        std::vector<std::pair<index_t, std::string>> failed;
        for (const compose::FailedValue& value : swept.failed) {
            failed.emplace_back(value.number, value.message);
        }
        return failed;
    }

    /// How a sweep over these inputs runs so many values.
    std::string explain_sweep(const std::vector<std::size_t>& inputs, index_t values) {
        return worker_.run([&] { return sweep_of(inputs).explain(worker_.executor(), values); });
    }

    Worker& worker() { return worker_; }

  private:
    using Executor = typename Worker::Executor;

    struct Memory {
        compose::Arguments arguments{};
        std::vector<compose::Argument> results{};
    };

    /// Predictions are made for this CPU, or for an H100.
    compose::Plan plan_of(const std::string& text, const std::string& fusion) {
        const auto word = is_tuned_ ? compose::Fusion::thesis
                                    : core::parse_choice("fusion", compose::fusion_choices, fusion);
        compose::Machine machine = compose::h100;
        if constexpr (!core::is_gpu<Executor>) {
            if (word == compose::Fusion::planned) {
                machine = compose::measured_machine(worker_.executor());
            }
        }
        fusion_ = is_tuned_ ? compose::Fusion::planned : word;
        return compose::plan(compose::parse(text), registry_, word, machine);
    }

    compose::Executable<Executor>& executable() {
        if (!executable_) executable_.emplace(worker_.executor(), plan_, tier_);
        return *executable_;
    }
    /// Runs once, too.
    void tune(const Memory& memory) {
        compose::Tuning tuning;
        tuning.tier = tier_;
        executable_ = compose::run_tuned(worker_.executor(), *plan_.program, registry_,
                                         memory.arguments, memory.results, tuning)
                          .executable;
    }

    /// The sweep over these inputs; the last one is kept.
    compose::Sweep<Executor>& sweep_of(const std::vector<std::size_t>& inputs) {
        if (sweep_ && sweep_->first == inputs) return sweep_->second;
        sweep_.reset();
        std::vector<std::string> all, names;
        for (const compose::Symbol& symbol : plan_.program->symbols) {
            if (symbol.source == compose::Source::input) all.push_back(symbol.name);
        }
        for (const std::size_t input : inputs) names.push_back(all.at(input));
        sweep_.emplace(
            inputs, compose::Sweep<Executor>(worker_.executor(), *plan_.program, registry_, names,
                                             {.fusion = fusion_, .tier = tier_}));
        return sweep_->second;
    }

    /// Of a sweep over the inputs `swept`, these and results `with_axis` have an axis more.
    Memory memory_of(const std::vector<Numbers>& given, const std::vector<Numbers>& results,
                     const std::vector<std::size_t>& swept = {},
                     const std::vector<bool>& with_axis = {}) const {
        Memory memory;
        index_t count = -1;
        auto next = given.begin();
        const compose::Program& program = *plan_.program;
        for (const compose::Symbol& symbol : program.symbols) {
            if (symbol.source != compose::Source::input &&
                symbol.source != compose::Source::in_place) {
                continue;
            }
            core::expects(next != given.end(), "there is no argument ", symbol.name);
            const bool on_host = symbol.type.is_scalar();
            const auto number = static_cast<std::size_t>(next - given.begin());
            const Numbers& numbers = *next++;
            if (std::find(swept.begin(), swept.end(), number) == swept.end()) {
                memory.arguments.emplace(symbol.name, argument(symbol, numbers, on_host));
                continue;
            }
            count = numbers.ndim() == 1 ? static_cast<index_t>(numbers.shape(0)) : 0;
            compose::Argument values = argument(symbol, numbers, on_host, count);
            values.type = compose::array(symbol.type.dtype, {count});
            memory.arguments.emplace(symbol.name, values);
        }
        core::expects(next == given.end(), given.size(), " arguments are too many");
        const auto& returned = std::get<compose::Return>(program.statements.back().what).values;
        core::expects(results.size() == returned.size(), "the program returns ", returned.size(),
                      " values, not ", results.size());
        for (std::size_t i = 0; i < results.size(); ++i) {
            memory.results.push_back(argument(program[returned[i]], results[i], false,
                                              !with_axis.empty() && with_axis[i] ? count : -1));
        }
        return memory;
    }

    /// With `values`, as many, one after the other.
    static compose::Argument argument(const compose::Symbol& symbol, const Numbers& numbers,
                                      bool on_host, index_t values = -1) {
        const compose::Type& type = symbol.type;
        std::vector<index_t> extents(type.extent.begin(), type.extent.begin() + type.rank);
        if (values >= 0) extents.insert(extents.begin(), values);
        bool fits = numbers.dtype() == dtype_of(type.dtype) && numbers.ndim() == extents.size();
        for (std::size_t d = 0; fits && d < numbers.ndim(); ++d) {
            fits = static_cast<index_t>(numbers.shape(d)) == extents[d];
        }
        core::expects(fits, symbol.name, " is no ", text_of(type));
        using Memory = typename DeviceOf<typename Executor::Space>::type;
        const int memory = on_host ? nb::device::cpu::value : Memory::value;
        core::expects(numbers.device_type() == memory, symbol.name, " is in other memory");
        return {const_cast<void*>(numbers.data()), type};
    }

    Worker worker_;
    compose::Registry registry_;
    bool is_tuned_;
    compose::Fusion fusion_{};  ///< of sweeps
    compose::Plan plan_;
    compose::Tier tier_;
    std::optional<compose::Executable<Executor>> executable_;
    std::optional<std::pair<std::vector<std::size_t>, compose::Sweep<Executor>>> sweep_;
};
using ComposedProgram = ComposedProgramOn<Worker>;

}  // namespace

void bind_compose(nb::module_& module) {
    nb::class_<ComposedProgram> bound(module, "ComposedProgram");
    bound
        .def(nb::init<const std::string&, const std::vector<BodyOperation>&, const std::string&,
                      const std::string&, int>())
        .def("explanation", &ComposedProgram::explanation)
        .def("reason_of_interpretation", &ComposedProgram::reason_of_interpretation)
        .def("run", &ComposedProgram::run, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert())
        .def("run_and_explain", &ComposedProgram::run_and_explain, nb::arg(), nb::arg().noconvert(),
             nb::arg().noconvert())
        .def("reached", &ComposedProgram::reached)
        .def("sweep", &ComposedProgram::sweep, nb::arg(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg())
        .def("explain_sweep", &ComposedProgram::explain_sweep);
    bind_stream(bound);
#if !APERTURE_PYTHON_GPU
    module.def("is_identifier", compose::is_identifier);
    module.def("expect_operation",
               [](const BodyOperation& operation) { registry_with({operation}); });
    module.def("types_of_call", types_of_call);
#endif
}

}  // namespace aperture::python
