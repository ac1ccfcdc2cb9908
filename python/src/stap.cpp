// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "aperture/stap/defaults.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"
#include "aperture/stap/spectra.hpp"
#include "aperture/stap/steering.hpp"
#include "aperture/stap/targets.hpp"
#include "aperture/stap/words.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/words.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

using core::Host;
using stap::cfloat;
using Cube = ArrayIn<const cfloat, 3, Host>;
using SteeringIn = ArrayIn<const cfloat, 2, Host>;
using StageTimes = std::vector<std::pair<std::string, double>>;

/// A row of a table of detections or targets; the package names the columns.
using DetectionRow = std::tuple<int, int, index_t, double, double, bool, int>;
using TargetRow = std::tuple<double, double, double, double, double, int>;

/// Results are views of mutable data even where they are only read.
template <class T, int Rank>
core::View<T, Rank, Host> without_const(const core::View<const T, Rank, Host>& view) {
    return {const_cast<T*>(view.data), view.extent, view.stride};
}

template <class T, int Rank>
void copy_to(const core::Array<T, Rank>& from, const ArrayIn<T, Rank, Host>& to) {
    const auto view = view_of<T, Rank>(to);
    core::expects_shape("array", view, from.extent(), core::Strides::dense);
    std::copy(from.begin(), from.end(), view.data);
}

/// A problem with its steering vectors, and where they look.
class StapProblem {
  public:
    /// Without `steering`, vectors look along `azimuths`.
    StapProblem(const stap::CubeShape& shape, const stap::Parameters& parameters,
                const std::optional<SteeringIn>& steering, const std::vector<double>& azimuths,
                double spacing)
        : problem_(stap::make_problem(
              shape, parameters,
              static_cast<int>(steering ? steering->shape(0) : azimuths.size()))) {
        if (steering) {
            copy_steering(view_of<const cfloat, 2>(*steering));
            return;
        }
        grid_.elements = stap::uniform_line(static_cast<int>(shape.channels), spacing);
        for (const double azimuth : azimuths) grid_.directions.push_back({azimuth, 0});
        steering_ = stap::steering_vectors(
            grid_.elements, grid_.directions,
            stap::temporal_response(parameters.taper, static_cast<int>(shape.pulses),
                                    problem_.doppler_bins, parameters.temporal_taps));
    }

    const stap::Problem& problem() const { return problem_; }
    core::View<const cfloat, 2, Host> steering() const { return steering_; }

    std::vector<double> thresholds(double pfa) const {
        return stap::detection_thresholds(problem_, pfa);
    }

    std::pair<std::vector<DetectionRow>, std::vector<TargetRow>> find_targets(
        int threads, double pfa, const Cube& cube, const ArrayIn<const float, 3, Host>& statistic,
        const ArrayIn<const int, 2, Host>& attempt) const {
        const auto view = view_of<const cfloat, 3>(cube);
        stap::Results<Host> results;
        results.statistic = without_const(view_of<const float, 3>(statistic));
        results.attempt = without_const(view_of<const int, 2>(attempt));
        CpuWorker worker(threads);
        const stap::Findings found = worker.run([&] {
            return stap::find_targets(worker.executor(), problem_, pfa, steering_, grid_, view,
                                      results);
        });
        std::vector<DetectionRow> detections;
        for (std::size_t i = 0; i < found.detections.size(); ++i) {
            const stap::Detection& d = found.detections[i];
            detections.emplace_back(d.steering_vector, d.doppler_bin, d.range_cell, d.statistic,
                                    d.threshold, found.loaded[i], found.merged.target_of[i]);
        }
        std::vector<TargetRow> targets;
        for (const stap::EstimatedTarget& t : found.merged.targets) {
            targets.emplace_back(t.range_cell, t.doppler, t.azimuth_degrees, t.statistic,
                                 t.strongest.threshold, t.detections);
        }
        return {detections, targets};
    }

    /// For each rate, the number of detections, and of targets and false detections among them.
    std::vector<std::tuple<index_t, index_t, index_t>> count_detections(
        const std::vector<double>& rates, const ArrayIn<const float, 3, Host>& statistic,
        const std::vector<index_t>& cells, const std::vector<double>& dopplers) const {
        std::vector<stap::Target> targets;
        for (std::size_t t = 0; t < cells.size(); ++t) {
            targets.push_back({.range_cell = cells[t], .doppler = dopplers.at(t)});
        }
        const std::vector<stap::Detection> most =
            stap::find_detections(problem_, *std::max_element(rates.begin(), rates.end()),
                                  view_of<const float, 3>(statistic), grid_.row_length);
        std::vector<std::tuple<index_t, index_t, index_t>> counts;
        for (const double pfa : rates) {
            const auto found = stap::detections_at(problem_, pfa, most);
            const auto score = stap::score_detections(found, targets, problem_.doppler_bins);
            counts.emplace_back(static_cast<index_t>(found.size()), score.found_targets,
                                score.false_detections);
        }
        return counts;
    }

    /// Spectra over [Doppler bin][azimuth]; see stap::interference_spectra.
    void interference_spectra(int threads, const Cube& cube, index_t range_cell,
                              const std::vector<double>& azimuths, double spacing,
                              const ArrayIn<double, 2, Host>& conventional,
                              const ArrayIn<double, 2, Host>& minimum_variance) const {
        const stap::CubeShape& shape = problem_.shape;
        const stap::Parameters& parameters = problem_.parameters;
        const core::Array<cfloat, 2> directions = stap::steering_vectors(
            static_cast<int>(shape.channels), spacing, azimuths,
            stap::temporal_response(parameters.taper, static_cast<int>(shape.pulses),
                                    problem_.doppler_bins, parameters.temporal_taps));
        const auto view = view_of<const cfloat, 3>(cube);
        CpuWorker worker(threads);
        const stap::InterferenceSpectra spectra = worker.run([&] {
            return stap::interference_spectra(worker.executor(), problem_, view, range_cell,
                                              directions);
        });
        copy_to(spectra.conventional, conventional);
        copy_to(spectra.minimum_variance, minimum_variance);
    }

  private:
    void copy_steering(const core::View<const cfloat, 2, Host>& given) {
        core::expects(given.extent[1] == problem_.order, "steering has ", given.extent[1],
                      " elements per vector, expected ", problem_.order, " (",
                      problem_.shape.channels, " channels x ", problem_.parameters.temporal_taps,
                      " taps)");
        steering_.reshape(given.extent);
        for (index_t d = 0; d < given.extent[0]; ++d)
            for (index_t i = 0; i < given.extent[1]; ++i) steering_(d, i) = given(d, i);
    }

    stap::Problem problem_;
    core::Array<cfloat, 2> steering_;
    stap::DirectionGrid grid_;
};

/// A pipeline on an executor. Classes that compute are templates, so that those of the two modules
/// are different types to nanobind.
template <class Worker>
class StapPipeline {
    using Executor = typename Worker::Executor;
    template <class T, int Rank>
    using Argument = ArrayIn<T, Rank, Space>;

  public:
    /// `where`: the number of threads, or of the GPU.
    StapPipeline(const StapProblem& problem, int where) : worker_(where) {
        worker_.run(
            [&] { pipeline_.emplace(worker_.executor(), problem.problem(), problem.steering()); });
    }

    void run(std::uintptr_t stream, const Argument<const cfloat, 3>& cube,
             const Argument<cfloat, 3>& output, const Argument<int, 2>& info,
             const Argument<float, 2>& pivot_ratio, const Argument<int, 2>& attempt,
             const std::optional<Argument<float, 3>>& statistic) {
        const auto view = view_of<const cfloat, 3, Space>(cube);
        stap::Results<Space> results;
        results.output = view_of<cfloat, 3, Space>(output);
        results.info = view_of<int, 2, Space>(info);
        results.pivot_ratio = view_of<float, 2, Space>(pivot_ratio);
        results.attempt = view_of<int, 2, Space>(attempt);
        if (statistic) results.statistic = view_of<float, 3, Space>(*statistic);
        worker_.run(stream, [&] {
            timeline_.begin_run();
            ++runs_;
            pipeline_->run(view, results, &timeline_);
        });
    }

    /// `loading`: the value, and whether it is relative.
    void set_loading(const std::pair<double, bool>& loading) {
        pipeline_->set_loading({loading.first, loading.second});
    }

    Worker& worker() { return worker_; }
    /// Runs so far.
    std::int64_t runs() const { return runs_; }
    /// The stages of run number `run`, with their milliseconds; nothing if it was not the last one.
    StageTimes stage_times(std::int64_t run) {
        if (run != runs_) return {};
        StageTimes times;
        const std::vector<core::Stage> stages = worker_.run([&] {
            // Which a signal may end, as timeline_ does not.
            worker_.executor().synchronize();
            return timeline_.stages();
        });
        for (const core::Stage& stage : stages) times.emplace_back(stage.name, stage.ms);
        return times;
    }

  private:
    Worker worker_;
    core::Timeline timeline_;
    std::int64_t runs_ = 0;
    std::optional<stap::Pipeline<Executor>> pipeline_;
};

void bind_pipeline(nb::module_& module) {
    using Pipeline = StapPipeline<Worker>;
    const auto array = [] { return nb::arg().noconvert(); };
    nb::class_<Pipeline> bound(module, "StapPipeline");
    bound.def(nb::init<const StapProblem&, int>())
        .def("run", &Pipeline::run, nb::arg(), array(), array(), array(), array(), array(),
             array().none() = nb::none())
        .def("set_loading", &Pipeline::set_loading)
        .def_prop_ro("runs", &Pipeline::runs)
        .def("stage_times", &Pipeline::stage_times);
    bind_stream(bound);
}

#if !APERTURE_PYTHON_GPU
void bind_parameters(nb::module_& module) {
    using stap::Parameters;
    nb::class_<Parameters> bound(module, "StapParameters");
    bound.def(nb::init<>())
        .def_rw("doppler_bins", &Parameters::doppler_bins)
        .def_rw("training_block", &Parameters::training_block)
        .def_rw("guard", &Parameters::guard)
        .def_rw("tdof", &Parameters::temporal_taps)
        .def_prop_rw(
            "loading",
            [](const Parameters& p) { return std::pair(p.loading.value, p.loading.relative); },
            [](Parameters& p, std::pair<double, bool> loading) {
                p.loading = {loading.first, loading.second};
            })
        .def_prop_rw(
            "taper", [](const Parameters& p) { return signal::to_string(p.taper); },
            [](Parameters& p, const std::string& text) { p.taper = signal::parse_taper(text); });
    def_choice(
        bound, "training", stap::training_choices,
        [](Parameters & p) -> auto& { return p.training; });
    def_choice(
        bound, "solver", stap::solver_choices, [](Parameters & p) -> auto& { return p.solver; });
    def_choice(
        bound, "impl", stap::implementation_choices,
        [](Parameters & p) -> auto& { return p.implementation; });
    def_choice(
        bound, "precision", stap::precision_choices,
        [](Parameters & p) -> auto& { return p.precision; });
    def_choice(
        bound, "detector", stap::detector_choices,
        [](Parameters & p) -> auto& { return p.detector; });
}

void bind_problem(nb::module_& module) {
    nb::class_<stap::CubeShape>(module, "CubeShape")
        .def("__init__", [](stap::CubeShape* shape, index_t channels, index_t pulses,
                            index_t range_cells, bool doppler) {
            new (shape) stap::CubeShape{channels, pulses, range_cells,
                                        doppler ? stap::Domain::doppler : stap::Domain::pulse};
        });
    module.attr("DEFAULT_PFA") = stap::default_pfa;
    module.attr("DEFAULT_SPACING") = stap::default_spacing_wavelengths;
    module.def("default_azimuths", [] { return stap::default_azimuths(); });
    module.def("default_tdof", stap::default_temporal_taps);
    module.def("default_training_block",
               [](const stap::CubeShape& shape, const stap::Parameters& p) {
                   return stap::fitting_training_block(
                       shape, p, stap::default_training_block(shape, p.temporal_taps));
               });
    module.def("default_loading", [](const stap::CubeShape& shape, const stap::Parameters& p) {
        const stap::DiagonalLoading loading = stap::default_loading(shape, p);
        return std::pair(loading.value, loading.relative);
    });
    module.def("doppler_of_bin", stap::doppler_of_bin);
    nb::class_<StapProblem>(module, "StapProblem")
        .def(nb::init<const stap::CubeShape&, const stap::Parameters&,
                      const std::optional<SteeringIn>&, const std::vector<double>&, double>(),
             nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
        .def_prop_ro("loading",
                     [](const StapProblem& p) {
                         const stap::DiagonalLoading& loading = p.problem().parameters.loading;
                         return std::pair(loading.value, loading.relative);
                     })
        .def_prop_ro("order", [](const StapProblem& p) { return p.problem().order; })
        .def_prop_ro("steering_vectors",
                     [](const StapProblem& p) { return p.problem().steering_vectors; })
        .def_prop_ro("doppler_bins", [](const StapProblem& p) { return p.problem().doppler_bins; })
        .def_prop_ro("training_sets",
                     [](const StapProblem& p) { return p.problem().training_sets; })
        .def("thresholds", &StapProblem::thresholds)
        .def("count_detections", &StapProblem::count_detections, nb::arg(), nb::arg().noconvert(),
             nb::arg(), nb::arg())
        .def("interference_spectra", &StapProblem::interference_spectra, nb::arg(),
             nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(),
             nb::arg().noconvert())
        .def("find_targets", &StapProblem::find_targets, nb::arg(), nb::arg(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert());
}

void bind_simulation(nb::module_& module) {
    using stap::ClutterScene;
    nb::class_<ClutterScene>(module, "ClutterScene")
        .def(nb::init<>())
        .def_rw("spacing", &ClutterScene::spacing_wavelengths)
        .def_rw("cnr_db", &ClutterScene::cnr_db)
        .def_rw("beta", &ClutterScene::beta)
        .def_rw("motion_std", &ClutterScene::motion_std)
        .def_rw("patches", &ClutterScene::patches)
        .def_rw("seed", &ClutterScene::seed)
        .def("add_target",
             [](ClutterScene& scene, index_t range_cell, double doppler, double azimuth,
                double snr_db) {
                 scene.targets.push_back({range_cell, doppler, azimuth, snr_db});
             })
        .def("add_jammer", [](ClutterScene& scene, double azimuth, double jnr_db) {
            scene.jammers.push_back({azimuth, jnr_db});
        });
    module.def(
        "simulate",
        [](ClutterScene scene, const ArrayIn<cfloat, 3, Host>& cube, int threads) {
            const auto view = view_of<cfloat, 3>(cube);
            scene.shape = {view.extent[0], view.extent[1], view.extent[2], stap::Domain::pulse};
            CpuWorker worker(threads);
            copy_to(worker.run([&] { return stap::simulate(worker.executor(), scene); }), cube);
        },
        nb::arg(), nb::arg().noconvert(), nb::arg());
    module.def("perfect_size", [](const std::string& name) {
        const stap::PerfectSize size = stap::perfect_size(name);
        return std::tuple(size.shape.channels, size.shape.pulses, size.shape.range_cells,
                          size.doppler_bins, size.training_block, size.temporal_taps,
                          size.steering_vectors);
    });
    module.def(
        "perfect_cube",
        [](const ArrayIn<cfloat, 3, Host>& cube) {
            const auto view = view_of<cfloat, 3>(cube);
            copy_to(stap::perfect_cube(
                        {view.extent[0], view.extent[1], view.extent[2], stap::Domain::pulse}),
                    cube);
        },
        nb::arg().noconvert());
}
#endif

}  // namespace

void bind_stap(nb::module_& module) {
#if !APERTURE_PYTHON_GPU
    bind_parameters(module);
    bind_problem(module);
    bind_simulation(module);
#endif
    bind_pipeline(module);
}

}  // namespace aperture::python
