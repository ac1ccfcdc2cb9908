// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/choices.hpp"
#include "aperture/core/error.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

constexpr core::Choices<compose::Fusion, 2> fusions{
    {{"none", compose::Fusion::none}, {"thesis", compose::Fusion::thesis}}};

/// Contiguous numbers of any type; of rank 0 for scalars. Programs write only those of symbols in
/// place.
using Numbers = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

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

/// A text's program, made ready for a CPU.
class ComposedProgram {
  public:
    ComposedProgram(const std::string& text, const std::string& fusion, int threads)
        : worker_(threads),
          executable_(worker_.executor(),
                      compose::plan(compose::parse(text), compose::Registry(),
                                    core::parse_choice("fusion", fusions, fusion))) {}

    std::string explanation() const { return compose::explain(executable_.plan()); }
    /// Why kernels are interpreted; empty if they are machine code.
    std::string reason_of_interpretation() const { return executable_.reason_of_interpretation(); }

    /// `given`: the arguments in the order of their symbols; `results`: in that of return.
    void run(const std::vector<Numbers>& given, const std::vector<Numbers>& results) {
        const compose::Program& program = *executable_.plan().program;
        compose::Arguments arguments;
        auto next = given.begin();
        for (const compose::Symbol& symbol : program.symbols) {
            if (symbol.source != compose::Source::input &&
                symbol.source != compose::Source::in_place) {
                continue;
            }
            core::expects(next != given.end(), "there is no argument ", symbol.name);
            arguments.emplace(symbol.name, argument(symbol, *next++));
        }
        core::expects(next == given.end(), given.size(), " arguments are too many");
        const auto& returned = std::get<compose::Return>(program.statements.back().what).values;
        core::expects(results.size() == returned.size(), "the program returns ", returned.size(),
                      " values, not ", results.size());
        std::vector<compose::Argument> to;
        for (std::size_t i = 0; i < results.size(); ++i) {
            to.push_back(argument(program[returned[i]], results[i]));
        }
        worker_.run([&] { executable_.run(worker_.executor(), arguments, to); });
    }

  private:
    static compose::Argument argument(const compose::Symbol& symbol, const Numbers& numbers) {
        const compose::Type& type = symbol.type;
        bool fits = numbers.dtype() == dtype_of(type.dtype) &&
                    numbers.ndim() == static_cast<std::size_t>(type.rank);
        for (std::size_t d = 0; fits && d < numbers.ndim(); ++d) {
            fits = static_cast<index_t>(numbers.shape(d)) == type.extent[d];
        }
        core::expects(fits, symbol.name, " is no ", text_of(type));
        return {const_cast<void*>(numbers.data()), type};
    }

    CpuWorker worker_;
    compose::Executable<core::Cpu> executable_;
};

}  // namespace

void bind_compose(nb::module_& module) {
    nb::class_<ComposedProgram>(module, "ComposedProgram")
        .def(nb::init<const std::string&, const std::string&, int>())
        .def("explanation", &ComposedProgram::explanation)
        .def("reason_of_interpretation", &ComposedProgram::reason_of_interpretation)
        .def("run", &ComposedProgram::run, nb::arg().noconvert(), nb::arg().noconvert());
    module.def("is_identifier", compose::is_identifier);
}

}  // namespace aperture::python
