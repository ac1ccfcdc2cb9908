// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/consistency.hpp"
#include "aperture/flow/estimator.hpp"
#include "aperture/flow/picture.hpp"
#include "aperture/flow/warp.hpp"
#include "aperture/flow/words.hpp"
#include "aperture/signal/copy_planes.hpp"
#include "aperture/signal/grey.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/pixels.hpp"
#include "python/src/words.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

using core::Host;

/// Arrays [row][column] or [row][column][plane], of one of the types of signal::to_grey or floats.
using ImageIn = nb::ndarray<nb::ro, DeviceOf<Space>::type>;
using PixelsIn = nb::ndarray<const float, DeviceOf<Space>::type>;
using PixelsOut = nb::ndarray<float, DeviceOf<Space>::type>;

/// An estimator for images of one shape with the grey images and the flow, on the module's
/// executor.
template <class Worker>
class FlowEstimator {
    using Executor = typename Worker::Executor;

  public:
    /// `where`: the number of threads, or of the GPU.
    FlowEstimator(index_t rows, index_t columns, const flow::Parameters& parameters, int where)
        : worker_(where) {
        worker_.run([&] {
            estimator_.emplace(worker_.executor(), flow::Shape{rows, columns}, parameters);
            for (auto& grey : grey_) grey.reshape({rows, columns});
            flow_.reshape({2, rows, columns});
        });
    }

    Worker& worker() { return worker_; }

    /// Of the runs that follow.
    void set_parameters(const flow::Parameters& parameters) {
        worker_.run([&] { estimator_->set_parameters(parameters); });
    }

    /// Without images between those of the run before.
    void run(std::uintptr_t stream, const std::optional<ImageIn>& image0,
             const std::optional<ImageIn>& image1, const PixelsOut& out,
             const std::optional<PixelsIn>& initial) {
        worker_.run(stream, [&] {
            if (image0) {
                load(*image0, grey_[0]);
                load(*image1, grey_[1]);
            }
            if (initial) {
                signal::copy_planes(worker_.executor(), planes_in<const float>(*initial),
                                    flow_.view());
            }
            const auto run =
                image0 ? &flow::Estimator<Executor>::run : &flow::Estimator<Executor>::run_again;
            (*estimator_.*run)(grey_[0].view(), grey_[1].view(), flow_.view(), initial.has_value(),
                               nullptr);
            signal::copy_planes(worker_.executor(), flow_.view(), planes_in<float>(out));
        });
    }

  private:
    void load(const ImageIn& image, core::Array<float, 2, Space>& grey) {
        core::expects(load_as<std::uint8_t>(image, grey) || load_as<std::uint16_t>(image, grey) ||
                          load_as<float>(image, grey),
                      "image of another type");
    }
    /// Returns whether the image is of this type.
    template <class Sample>
    bool load_as(const ImageIn& image, core::Array<float, 2, Space>& grey) {
        if (image.dtype() != nb::dtype<Sample>()) return false;
        signal::to_grey(worker_.executor(), planes_in<const Sample>(image), grey.view());
        return true;
    }

    Worker worker_;
    std::optional<flow::Estimator<Executor>> estimator_;
    core::Array<float, 2, Space> grey_[2];
    core::Array<float, 3, Space> flow_;
};

/// flow::warp of all channels of an image.
template <class Worker>
class Warper {
  public:
    explicit Warper(int where) : worker_(where) {}

    Worker& worker() { return worker_; }

    void run(std::uintptr_t stream, const PixelsIn& image, const PixelsIn& flow,
             const std::string& interpolation, const PixelsOut& out) {
        const auto kind =
            core::parse_choice("interpolation", flow::interpolation_choices, interpolation);
        worker_.run(stream, [&] {
            load(image, image_);
            load(flow, flow_);
            warped_.reshape(image_.extent());
            for (index_t i = 0; i < image_.extent()[0]; ++i) {
                flow::warp(worker_.executor(), image_.view()[i], flow_.view(), kind,
                           warped_.view()[i]);
            }
            signal::copy_planes(worker_.executor(), warped_.view(), planes_in<float>(out));
        });
    }

  private:
    void load(const PixelsIn& pixels, core::Array<float, 3, Space>& planes) {
        const auto from = planes_in<const float>(pixels);
        planes.reshape(from.extent);
        signal::copy_planes(worker_.executor(), from, planes.view());
    }

    Worker worker_;
    core::Array<float, 3, Space> image_;
    core::Array<float, 3, Space> flow_;
    core::Array<float, 3, Space> warped_;
};

/// flow::SystemSolver for images of one shape.
template <class Worker>
class SystemSolver {
    using Planes = ArrayIn<const float, 3, Space>;
    using Flow = ArrayIn<float, 3, Space>;

  public:
    /// `where`: the number of threads, or of the GPU.
    SystemSolver(index_t rows, index_t columns, const flow::Parameters& parameters, int where)
        : worker_(where), parameters_(parameters) {
        worker_.run([&] {
            solver_.emplace(worker_.executor(), flow::Shape{rows, columns}, parameters.solver);
        });
    }

    Worker& worker() { return worker_; }

    /// Solves for the flow [u, v][row][column] from the start. Returns the residuals, and waits.
    std::vector<double> run(std::uintptr_t stream, const Planes& tensor, const Planes& right,
                            const Planes& start, const Flow& flow) {
        flow::LinearSystem<Space> system;
        system.tensor = view_of<const float, 3, Space>(tensor);
        system.right = view_of<const float, 3, Space>(right);
        system.smoothness = static_cast<float>(parameters_.alpha * parameters_.alpha);
        system.boundary = parameters_.boundary;
        system.stencil = parameters_.stencil;
        const auto from = view_of<const float, 3, Space>(start);
        const auto to = view_of<float, 3, Space>(flow);
        return worker_.run(stream, [&] {
            signal::copy_planes(worker_.executor(), from, to);
            std::vector<double> residuals;
            solver_->solve(system, to, &residuals);
            return residuals;
        });
    }

  private:
    Worker worker_;
    flow::Parameters parameters_;
    std::optional<flow::SystemSolver<typename Worker::Executor>> solver_;
};

void bind_computing(nb::module_& module) {
    const auto array = [] { return nb::arg().noconvert(); };
    using Estimator = FlowEstimator<Worker>;
    nb::class_<Estimator> estimator(module, "FlowEstimator");
    estimator.def(nb::init<index_t, index_t, const flow::Parameters&, int>())
        .def("set_parameters", &Estimator::set_parameters)
        .def("run", &Estimator::run, nb::arg(), array().none(), array().none(), array(),
             array().none() = nb::none());
    bind_stream(estimator);
    nb::class_<Warper<Worker>> warper(module, "Warper");
    warper.def(nb::init<int>())
        .def("run", &Warper<Worker>::run, nb::arg(), array(), array(), nb::arg(), array());
    bind_stream(warper);
    using Solver = SystemSolver<Worker>;
    nb::class_<Solver> solver(module, "SystemSolver");
    solver.def(nb::init<index_t, index_t, const flow::Parameters&, int>())
        .def("run", &Solver::run, nb::arg(), array(), array(), array(), array());
    bind_stream(solver);
}

#if !APERTURE_PYTHON_GPU
using FloatsIn = ArrayIn<const float, 3, Host>;

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
    def_choice(
        bound, "method", flow::method_choices, [](Parameters & p) -> auto& { return p.method; });
    def_choice(
        bound, "interpolation", flow::interpolation_choices,
        [](Parameters & p) -> auto& { return p.interpolation; });
    def_choice(
        bound, "boundary", flow::boundary_choices,
        [](Parameters & p) -> auto& { return p.boundary; });
    def_choice(
        bound, "stencil", flow::stencil_choices, [](Parameters & p) -> auto& { return p.stencil; });
    def_choice(
        bound, "solver", flow::solver_choices,
        [](Parameters & p) -> auto& { return p.solver.solver; });
    def_choice(
        bound, "precondition", flow::precondition_choices,
        [](Parameters & p) -> auto& { return p.solver.precondition; });
    def_choice(
        bound, "basis", flow::basis_choices,
        [](Parameters & p) -> auto& { return p.solver.basis; });
    def_choice(
        bound, "impl", flow::implementation_choices,
        [](Parameters & p) -> auto& { return p.solver.implementation; });
    bound.def("validate", [](const Parameters& p) { flow::validate(p); });
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

void bind_functions(nb::module_& module) {
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
            return worker.run([&] {
                return flow::compare(worker.executor(), planes_in<const float>(flow),
                                     planes_in<const float>(truth));
            });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
    module.def(
        "largest_motion",
        [](const FloatsIn& flow) { return flow::largest_motion(planes_in<const float>(flow)); },
        nb::arg().noconvert());
    module.def(
        "draw_flow",
        [](const FloatsIn& flow, double max_motion, const ArrayIn<std::uint8_t, 3, Host>& picture) {
            flow::draw_flow(planes_in<const float>(flow), max_motion,
                            view_of<std::uint8_t, 3>(picture));
        },
        nb::arg().noconvert(), nb::arg(), nb::arg().noconvert());
    module.def(
        "check_consistency",
        [](const FloatsIn& forward, const FloatsIn& backward,
           const ArrayIn<std::uint8_t, 2, Host>& consistent, int threads) {
            CpuWorker worker(threads);
            worker.run([&] {
                flow::check_consistency(worker.executor(), planes_in<const float>(forward),
                                        planes_in<const float>(backward),
                                        view_of<std::uint8_t, 2>(consistent));
            });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
}
#endif

}  // namespace

void bind_flow(nb::module_& module) {
#if !APERTURE_PYTHON_GPU
    bind_parameters(module);
    bind_functions(module);
#endif
    bind_computing(module);
}

}  // namespace aperture::python
