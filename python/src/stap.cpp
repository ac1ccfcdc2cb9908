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

#include "aperture/core/finite.hpp"
#include "aperture/stap/defaults.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"
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

stap::CubeShape shape_of(index_t channels, index_t pulses, index_t range_cells, bool doppler) {
    return {channels, pulses, range_cells,
            doppler ? stap::Domain::doppler : stap::Domain::pulse};
}

/// A row of a table of detections or targets; the package names the columns.
using DetectionRow = std::tuple<int, int, index_t, double, double, bool, int>;
using TargetRow = std::tuple<double, double, double, double, double, int>;

/// A pipeline for cubes of one shape, with the directions of its steering vectors.
class StapPipeline {
  public:
    /// Without `steering`, vectors look along `azimuths`.
    StapPipeline(const stap::CubeShape& shape, const stap::Parameters& parameters,
                 const std::optional<SteeringIn>& steering, const std::vector<double>& azimuths,
                 double spacing, int threads)
        : worker_(threads),
          problem_(stap::make_problem(
              shape, parameters,
              static_cast<int>(steering ? steering->shape(0) : azimuths.size()))) {
        const int channels = static_cast<int>(shape.channels);
        steering_.reshape({problem_.steering_vectors, problem_.order});
        if (steering) {
            core::expects(static_cast<index_t>(steering->shape(1)) == problem_.order,
                          "steering has ", steering->shape(1), " elements per vector, expected ",
                          problem_.order, " (", shape.channels, " channels x ",
                          parameters.temporal_taps, " taps)");
            const auto from = view_of<const cfloat, 2>(*steering);
            for (index_t d = 0; d < problem_.steering_vectors; ++d)
                for (index_t i = 0; i < problem_.order; ++i) steering_(d, i) = from(d, i);
        } else {
            grid_.elements = stap::uniform_line(channels, spacing);
            for (const double azimuth : azimuths) grid_.directions.push_back({azimuth, 0});
            steering_ = stap::steering_vectors(
                grid_.elements, grid_.directions,
                stap::temporal_response(parameters.taper, static_cast<int>(shape.pulses),
                                        problem_.doppler_bins, parameters.temporal_taps));
        }
        pipeline_.emplace(worker_.executor(), problem_, steering_);
    }

    int order() const { return problem_.order; }
    int steering_vectors() const { return problem_.steering_vectors; }
    int doppler_bins() const { return problem_.doppler_bins; }
    index_t training_sets() const { return problem_.training_sets; }

    index_t count_non_finite(const Cube& cube) {
        return worker_.run([&, view = view_of<const cfloat, 3>(cube)] {
            return core::count_non_finite(worker_.executor(), view);
        });
    }

    StageTimes run(const Cube& cube, const ArrayIn<cfloat, 3, Host>& output,
                   const ArrayIn<int, 2, Host>& info, const ArrayIn<float, 2, Host>& pivot_ratio,
                   const ArrayIn<int, 2, Host>& attempt,
                   const std::optional<ArrayIn<float, 3, Host>>& statistic) {
        const auto view = view_of<const cfloat, 3>(cube);
        stap::Results<Host> results;
        results.output = view_of<cfloat, 3>(output);
        results.info = view_of<int, 2>(info);
        results.pivot_ratio = view_of<float, 2>(pivot_ratio);
        results.attempt = view_of<int, 2>(attempt);
        if (statistic) results.statistic = view_of<float, 3>(*statistic);
        const auto stages = worker_.run([&] {
            timeline_.begin_run();
            pipeline_->run(view, results, &timeline_);
            return timeline_.stages();
        });
        StageTimes times;
        for (const core::Stage& stage : stages) times.emplace_back(stage.name, stage.ms);
        return times;
    }

    std::vector<double> thresholds(double pfa) const {
        return stap::detection_thresholds(problem_, pfa);
    }

    std::pair<std::vector<DetectionRow>, std::vector<TargetRow>> find_targets(
        double pfa, const Cube& cube, const ArrayIn<const float, 3, Host>& statistic,
        const ArrayIn<const int, 2, Host>& attempt) {
        const auto view = view_of<const cfloat, 3>(cube);
        stap::Results<Host> results;
        results.statistic = without_const(view_of<const float, 3>(statistic));
        results.attempt = without_const(view_of<const int, 2>(attempt));
        const stap::Findings found = worker_.run([&] {
            return stap::find_targets(worker_.executor(), problem_, pfa, steering_, grid_, view,
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

  private:
    /// Results are views of mutable data even where they are only read.
    template <class T, int Rank>
    static core::View<T, Rank, Host> without_const(const core::View<const T, Rank, Host>& view) {
        return {const_cast<T*>(view.data), view.extent, view.stride};
    }

    CpuWorker worker_;
    stap::Problem problem_;
    core::Array<cfloat, 2> steering_;
    stap::DirectionGrid grid_;
    core::Timeline timeline_;
    std::optional<stap::Pipeline<core::Cpu>> pipeline_;
};

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
    def_choice(bound, "training", stap::training_choices,
               [](Parameters& p) -> auto& { return p.training; });
    def_choice(bound, "solver", stap::solver_choices,
               [](Parameters& p) -> auto& { return p.solver; });
    def_choice(bound, "impl", stap::implementation_choices,
               [](Parameters& p) -> auto& { return p.implementation; });
    def_choice(bound, "precision", stap::precision_choices,
               [](Parameters& p) -> auto& { return p.precision; });
    def_choice(bound, "detector", stap::detector_choices,
               [](Parameters& p) -> auto& { return p.detector; });
}

void bind_pipeline(nb::module_& module) {
    nb::class_<stap::CubeShape>(module, "CubeShape")
        .def("__init__", [](stap::CubeShape* shape, index_t channels, index_t pulses,
                            index_t range_cells, bool doppler) {
            new (shape) stap::CubeShape(shape_of(channels, pulses, range_cells, doppler));
        });
    module.attr("DEFAULT_PFA") = stap::default_pfa;
    module.attr("DEFAULT_SPACING") = stap::default_spacing_wavelengths;
    module.def("default_azimuths", [] { return stap::default_azimuths(); });
    module.def("default_tdof", stap::default_temporal_taps);
    module.def("default_training_block", [](const stap::CubeShape& shape,
                                            const stap::Parameters& p) {
        return stap::fitting_training_block(
            shape, p, stap::default_training_block(shape, p.temporal_taps));
    });
    module.def("default_loading", [](const stap::CubeShape& shape, const stap::Parameters& p) {
        const stap::DiagonalLoading loading = stap::default_loading(shape, p);
        return std::pair(loading.value, loading.relative);
    });
    module.def("doppler_of_bin", stap::doppler_of_bin);
    nb::class_<StapPipeline>(module, "StapPipeline")
        .def(nb::init<const stap::CubeShape&, const stap::Parameters&,
                      const std::optional<SteeringIn>&, const std::vector<double>&, double, int>(),
             nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
        .def_prop_ro("order", &StapPipeline::order)
        .def_prop_ro("steering_vectors", &StapPipeline::steering_vectors)
        .def_prop_ro("doppler_bins", &StapPipeline::doppler_bins)
        .def_prop_ro("training_sets", &StapPipeline::training_sets)
        .def("count_non_finite", &StapPipeline::count_non_finite, nb::arg().noconvert())
        .def("run", &StapPipeline::run, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert().none())
        .def("thresholds", &StapPipeline::thresholds)
        .def("find_targets", &StapPipeline::find_targets, nb::arg(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg().noconvert());
}

void copy_to(const core::Array<cfloat, 3>& from, const ArrayIn<cfloat, 3, Host>& to) {
    const auto view = view_of<cfloat, 3>(to);
    core::expects_shape("cube", view, from.extent(), core::Strides::dense);
    std::copy(from.begin(), from.end(), view.data);
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
            copy_to(stap::perfect_cube({view.extent[0], view.extent[1], view.extent[2],
                                        stap::Domain::pulse}),
                    cube);
        },
        nb::arg().noconvert());
}

}  // namespace

void bind_stap(nb::module_& module) {
    bind_parameters(module);
    bind_pipeline(module);
    bind_simulation(module);
}

}  // namespace aperture::python
