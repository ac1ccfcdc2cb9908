// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "aperture/core/finite.hpp"
#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/consistency.hpp"
#include "aperture/flow/estimator.hpp"
#include "aperture/flow/picture.hpp"
#include "aperture/flow/warp.hpp"
#include "aperture/flow/words.hpp"
#include "aperture/signal/grey.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/words.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

using core::Host;
/// A flow [row][column][u, v], or planes [plane][row][column].
using FloatsIn = ArrayIn<const float, 3, Host>;
using FloatsOut = ArrayIn<float, 3, Host>;
/// An image [row][column][channel] of one of the types that signal::to_grey takes.
using ImageIn = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;

/// The view [plane][row][column] of an array [row][column][plane].
template <class T>
core::View<T, 3, Host> planes_of(const core::View<T, 3, Host>& pixels) {
    return {pixels.data,
            {pixels.extent[2], pixels.extent[0], pixels.extent[1]},
            {pixels.stride[2], pixels.stride[0], pixels.stride[1]}};
}
template <class T>
auto planes_of(const ArrayIn<T, 3, Host>& pixels) {
    return planes_of(view_of<T, 3>(pixels));
}

template <class T>
void to_grey(const ImageIn& image, core::View<float, 2, Host> grey) {
    core::View<const T, 3, Host> pixels;
    pixels.data = static_cast<const T*>(image.data());
    for (int d = 0; d < 3; ++d) {
        pixels.extent[d] = static_cast<index_t>(image.shape(static_cast<std::size_t>(d)));
        pixels.stride[d] = static_cast<index_t>(image.stride(static_cast<std::size_t>(d)));
    }
    signal::to_grey(planes_of(pixels), grey);
}

template <class From, class To>
void copy_planes(const From& from, const To& to) {
    core::expects_shape("flow", from, to.extent);
    for (index_t y = 0; y < to.extent[1]; ++y) {
        for (index_t x = 0; x < to.extent[2]; ++x) {
            for (index_t i = 0; i < to.extent[0]; ++i) to(i, y, x) = from(i, y, x);
        }
    }
}

/// An estimator for images of one shape with the grey images and the flow.
class FlowEstimator {
  public:
    FlowEstimator(index_t rows, index_t columns, const flow::Parameters& parameters, int threads)
        : worker_(threads),
          estimator_(worker_.executor(), {rows, columns}, parameters),
          grey_{core::Array<float, 2>({rows, columns}), core::Array<float, 2>({rows, columns})},
          flow_({2, rows, columns}) {}

    /// Stores the flow in `out`, unless `check` is true and pixels of the images or of the start
    /// are not finite. Returns their numbers.
    std::array<index_t, 3> run(const ImageIn& image0, const ImageIn& image1,
                               const std::optional<FloatsIn>& initial, bool check,
                               const FloatsOut& out) {
        const auto to = planes_of(out);
        return worker_.run([&] {
            std::array<index_t, 3> counts{};
            const auto count = [&](std::size_t i, const auto& values) {
                if (check) counts[i] = core::count_non_finite(worker_.executor(), values);
            };
            load(image0, grey_[0]);
            load(image1, grey_[1]);
            for (std::size_t i : {0, 1}) count(i, std::as_const(grey_[i]).view());
            if (initial) {
                copy_planes(planes_of(*initial), flow_.view());
                count(2, std::as_const(flow_).view());
            }
            if (counts != std::array<index_t, 3>{}) return counts;
            estimator_.run(grey_[0], grey_[1], flow_, initial.has_value(), nullptr);
            copy_planes(flow_.view(), to);
            return counts;
        });
    }

  private:
    static void load(const ImageIn& image, core::Array<float, 2>& grey) {
        if (image.dtype() == nb::dtype<std::uint8_t>()) return to_grey<std::uint8_t>(image, grey);
        if (image.dtype() == nb::dtype<std::uint16_t>()) return to_grey<std::uint16_t>(image, grey);
        if (image.dtype() == nb::dtype<double>()) return to_grey<double>(image, grey);
        to_grey<float>(image, grey);
    }

    CpuWorker worker_;
    flow::Estimator<core::Cpu> estimator_;
    core::Array<float, 2> grey_[2];
    core::Array<float, 3> flow_;
};

/// A property that is a member of the solver's parameters.
template <class Value>
void def_solver(nb::class_<flow::Parameters>& bound, const char* name,
                Value flow::SolverParameters::*member) {
    bound.def_prop_rw(
        name, [member](const flow::Parameters& p) { return p.solver.*member; },
        [member](flow::Parameters& p, Value value) { p.solver.*member = value; });
}

void bind_parameters(nb::module_& module) {
    using flow::Parameters;
    nb::class_<Parameters> bound(module, "FlowParameters");
    bound.def_rw("robust", &Parameters::robust)
        .def_rw("alpha", &Parameters::alpha)
        .def_rw("brightness", &Parameters::brightness)
        .def_rw("contrast", &Parameters::contrast)
        .def_rw("reweightings", &Parameters::reweightings)
        .def_rw("window", &Parameters::window)
        .def_rw("regularisation", &Parameters::regularisation)
        .def_rw("levels", &Parameters::levels)
        .def_rw("scale", &Parameters::scale)
        .def_rw("warps", &Parameters::warps)
        .def_rw("median", &Parameters::median)
        .def_rw("weighted_median", &Parameters::weighted_median)
        .def_rw("largest_update", &Parameters::largest_update)
        .def_rw("smooth_increment", &Parameters::smooth_increment)
        .def_rw("blur", &Parameters::blur)
        .def_rw("texture", &Parameters::texture);
    def_solver(bound, "iterations", &flow::SolverParameters::iterations);
    def_solver(bound, "tolerance", &flow::SolverParameters::tolerance);
    def_solver(bound, "relaxation", &flow::SolverParameters::relaxation);
    def_solver(bound, "s_step", &flow::SolverParameters::s_step);
    def_choice(bound, "method", flow::method_choices,
               [](Parameters& p) -> auto& { return p.method; });
    def_choice(bound, "interpolation", flow::interpolation_choices,
               [](Parameters& p) -> auto& { return p.interpolation; });
    def_choice(bound, "boundary", flow::boundary_choices,
               [](Parameters& p) -> auto& { return p.boundary; });
    def_choice(bound, "stencil", flow::stencil_choices,
               [](Parameters& p) -> auto& { return p.stencil; });
    def_choice(bound, "solver", flow::solver_choices,
               [](Parameters& p) -> auto& { return p.solver.solver; });
    def_choice(bound, "precondition", flow::precondition_choices,
               [](Parameters& p) -> auto& { return p.solver.precondition; });
    def_choice(bound, "basis", flow::basis_choices,
               [](Parameters& p) -> auto& { return p.solver.basis; });
    bound.def("levels_of", [](const Parameters& p, index_t rows, index_t columns) {
        return flow::pyramid_shapes({rows, columns}, p).size();
    });
    module.def(
        "flow_preset",
        [](const std::string& preset, const std::string& method,
           const std::optional<std::string>& solver) {
            std::optional<flow::Solver> chosen;
            if (solver) chosen = core::parse_choice("solver", flow::solver_choices, *solver);
            return flow::preset(core::parse_choice("preset", flow::preset_choices, preset),
                                core::parse_choice("method", flow::method_choices, method), chosen);
        },
        nb::arg(), nb::arg(), nb::arg().none());
}

/// Solves for the flow [u, v][row][column], which holds the start. Returns the residuals.
std::vector<double> solve_system(const FloatsIn& tensor, const FloatsIn& right,
                                 const flow::Parameters& parameters, const FloatsOut& flow,
                                 int threads) {
    flow::LinearSystem<Host> system;
    system.tensor = view_of<const float, 3>(tensor);
    system.right = view_of<const float, 3>(right);
    system.smoothness = static_cast<float>(parameters.alpha * parameters.alpha);
    system.boundary = parameters.boundary;
    system.stencil = parameters.stencil;
    const auto solution = view_of<float, 3>(flow);
    CpuWorker worker(threads);
    return worker.run([&] {
        std::vector<double> residuals;
        flow::SystemSolver<core::Cpu>(worker.executor(), {solution.extent[1], solution.extent[2]},
                                      parameters.solver)
            .solve(system, solution, &residuals);
        return residuals;
    });
}

}  // namespace

void bind_flow(nb::module_& module) {
    bind_parameters(module);
    nb::class_<FlowEstimator>(module, "FlowEstimator")
        .def(nb::init<index_t, index_t, const flow::Parameters&, int>())
        .def("run", &FlowEstimator::run, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert().none(), nb::arg(), nb::arg().noconvert());
    module.def("solve_system", solve_system, nb::arg().noconvert(), nb::arg().noconvert(),
               nb::arg(), nb::arg().noconvert(), nb::arg());
    nb::class_<flow::Accuracy>(module, "FlowAccuracy")
        .def_ro("known", &flow::Accuracy::known)
        .def_ro("non_finite", &flow::Accuracy::non_finite)
        .def_ro("aae", &flow::Accuracy::aae)
        .def_ro("epe", &flow::Accuracy::epe)
        .def_ro("rmse", &flow::Accuracy::rmse)
        .def_ro("r05", &flow::Accuracy::r05)
        .def_ro("r1", &flow::Accuracy::r1)
        .def_ro("r2", &flow::Accuracy::r2);
    module.def(
        "compare_flows",
        [](const FloatsIn& flow, const FloatsIn& truth, int threads) {
            CpuWorker worker(threads);
            return worker.run([&, flow = planes_of(flow), truth = planes_of(truth)] {
                return flow::compare(worker.executor(), flow, truth);
            });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
    module.def(
        "largest_motion",
        [](const FloatsIn& flow) { return flow::largest_motion(planes_of(flow)); },
        nb::arg().noconvert());
    module.def(
        "draw_flow",
        [](const FloatsIn& flow, double max_motion, const ArrayIn<std::uint8_t, 3, Host>& picture) {
            flow::draw_flow(planes_of(flow), max_motion, view_of<std::uint8_t, 3>(picture));
        },
        nb::arg().noconvert(), nb::arg(), nb::arg().noconvert());
    module.def(
        "warp",
        [](const ArrayIn<const float, 2, Host>& image, const FloatsIn& flow,
           const std::string& interpolation, const ArrayIn<float, 2, Host>& to, int threads) {
            const auto kind =
                core::parse_choice("interpolation", flow::interpolation_choices, interpolation);
            CpuWorker worker(threads);
            worker.run([&, image = view_of<const float, 2>(image), flow = view_of<const float, 3>(flow),
                        to = view_of<float, 2>(to)] {
                flow::warp(worker.executor(), image, flow, kind, to);
            });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg().noconvert(), nb::arg());
    module.def(
        "check_consistency",
        [](const FloatsIn& forward, const FloatsIn& backward,
           const ArrayIn<std::uint8_t, 2, Host>& consistent, int threads) {
            CpuWorker worker(threads);
            worker.run([&, forward = planes_of(forward), backward = planes_of(backward),
                        consistent = view_of<std::uint8_t, 2>(consistent)] {
                flow::check_consistency(worker.executor(), forward, backward, consistent);
            });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
}

}  // namespace aperture::python
