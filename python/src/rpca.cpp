// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "aperture/core/shape.hpp"
#include "aperture/rpca/clip_background.hpp"
#include "aperture/rpca/mask.hpp"
#include "aperture/rpca/online_pca.hpp"
#include "aperture/rpca/score.hpp"
#include "aperture/rpca/temporal_median.hpp"
#include "aperture/rpca/words.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/words.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

using core::Host;

/// Frames of any rank.
template <class T, class MemorySpace>
using FramesIn = nb::ndarray<T, typename DeviceOf<MemorySpace>::type>;

template <class T, class MemorySpace>
rpca::FramesView<T, MemorySpace> frames_of(const FramesIn<T, MemorySpace>& array) {
    core::expects(array.ndim() > 0, "frames have no axis");
    index_t values = 1;
    for (std::size_t d = array.ndim(); --d > 0;) {
        core::expects(array.shape(d) == 1 || array.stride(d) == values,
                      "frames are not contiguous");
        values *= static_cast<index_t>(array.shape(d));
    }
    return {array.data(),
            {static_cast<index_t>(array.shape(0)), values},
            {static_cast<index_t>(array.stride(0)), 1}};
}

/// Robust PCA of matrices of one shape.
template <class Worker, class T>
class RobustPcaOn {
  public:
    /// `where`: the number of threads, or of the GPU.
    RobustPcaOn(index_t frames, index_t values, const rpca::Parameters& parameters, int where)
        : worker_(where) {
        worker_.run([&] { pca_.emplace(worker_.executor(), frames, values, parameters); });
    }

    /// An exception of `progress`, if there is one, ends the run.
    rpca::Outcome run(std::uintptr_t stream, const FramesIn<const T, Space>& m,
                      const FramesIn<T, Space>& low_rank, const FramesIn<T, Space>& sparse,
                      const std::optional<nb::callable>& progress) {
        const auto from = frames_of<const T, Space>(m);
        const auto low_rank_view = frames_of<T, Space>(low_rank);
        const auto sparse_view = frames_of<T, Space>(sparse);
        std::exception_ptr raised;
        std::function<bool(const rpca::Progress&)> observe;
        if (progress) {
            observe = [&](const rpca::Progress& state) {
                const nb::gil_scoped_acquire acquire;
                try {
                    (*progress)(state.iteration, state.residual);
                } catch (...) {
                    raised = std::current_exception();
                }
                return raised == nullptr;
            };
        }
        const rpca::Outcome outcome = worker_.run(
            stream, [&] { return pca_->run(from, low_rank_view, sparse_view, observe); });
        if (raised) std::rethrow_exception(raised);
        return outcome;
    }

    void set_lambda(double lambda) { pca_->set_lambda(lambda); }

    Worker& worker() { return worker_; }

  private:
    Worker worker_;
    std::optional<rpca::RobustPca<T, typename Worker::Executor>> pca_;
};

template <class T>
void bind_robust_pca(nb::module_& module, const char* name) {
    using Pca = RobustPcaOn<Worker, T>;
    const auto array = [] { return nb::arg().noconvert(); };
    nb::class_<Pca> bound(module, name);
    bound.def(nb::init<index_t, index_t, const rpca::Parameters&, int>())
        .def("run", &Pca::run, nb::arg(), array(), array(), array(), nb::arg().none())
        .def("set_lambda", &Pca::set_lambda);
    bind_stream(bound);
}

#if !APERTURE_PYTHON_GPU
class OnlinePca {
  public:
    OnlinePca(index_t values, const rpca::OnlineParameters& parameters, int threads)
        : worker_(threads), pca_(worker_.executor(), values, parameters) {}

    void begin(const ArrayIn<const float, 1, Host>& background) {
        const auto from = view_of<const float, 1>(background);
        worker_.run([&] { pca_.begin(from); });
    }
    void next(const ArrayIn<const float, 1, Host>& frame,
              const ArrayIn<float, 1, Host>& background) {
        const auto from = view_of<const float, 1>(frame);
        const auto to = view_of<float, 1>(background);
        worker_.run([&] { pca_.next(from, to); });
    }
    void learn(const ArrayIn<const std::uint8_t, 2, Host>& mask) {
        const auto foreground = view_of<const std::uint8_t, 2>(mask);
        worker_.run([&] { pca_.learn(foreground); });
    }

  private:
    CpuWorker worker_;
    rpca::OnlinePca pca_;
};

/// Masks of frames in front of their backgrounds.
class MaskFinder {
  public:
    MaskFinder(const rpca::MaskParameters& parameters, int threads)
        : worker_(threads), parameters_(parameters) {
        rpca::validate(parameters);
    }

    /// Frames are [frame][channel][row][column]. Scales are computed anew from these frames first,
    /// or follow them afterwards if there is `with_light`, or are kept.
    void find(const ArrayIn<const float, 4, Host>& frames,
              const ArrayIn<const float, 4, Host>& backgrounds,
              const ArrayIn<std::uint8_t, 3, Host>& masks, bool anew,
              const std::optional<ArrayIn<std::uint8_t, 3, Host>>& with_light) {
        const auto shape = view_of<const float, 4>(frames).extent;
        const auto from = frames_of<const float, Host>(FramesIn<const float, Host>(frames));
        const auto ground = frames_of<const float, Host>(FramesIn<const float, Host>(backgrounds));
        const auto to = view_of<std::uint8_t, 3>(masks);
        const auto light =
            with_light ? view_of<std::uint8_t, 3>(*with_light) : rpca::MasksView<Host>{};
        worker_.run([&] {
            core::Cpu& cpu = worker_.executor();
            differences_.reshape(shape);
            rpca::subtract_backgrounds(cpu, from, ground, {differences_.data(), from.extent});
            const auto differences = std::as_const(differences_).view();
            const bool scaled = parameters_.follows_pixels();
            if (scaled && anew) {
                scales_.reshape({shape[2], shape[3]});
                rpca::pixel_scales(cpu, differences, scales_.view());
            }
            rpca::find_masks(
                cpu,
                {differences, std::as_const(scales_).view(), view_of<const float, 4>(frames),
                 view_of<const float, 4>(backgrounds)},
                parameters_, to, light);
            if (scaled && with_light) {
                rpca::follow_scales(cpu, differences, light, scales_.view());
            }
        });
    }

    /// Of the differences of the frames that follow.
    void set_scales(const ArrayIn<const float, 2, Host>& scales) {
        const auto from = view_of<const float, 2>(scales);
        scales_.reshape(from.extent);
        std::copy(from.data, from.data + from.size(), scales_.begin());
    }

  private:
    CpuWorker worker_;
    rpca::MaskParameters parameters_;
    core::Array<float, 4> differences_;
    core::Array<float, 2> scales_;  ///< of the differences
};

/// score(frame) of each frame.
template <class T, class ScoreFrame>
std::vector<T> scores_of_frames(core::Cpu& cpu, index_t frames, const ScoreFrame& score) {
    std::vector<T> scores(static_cast<std::size_t>(frames));
    core::for_each_task(cpu, frames, 0, [&](index_t frame, std::byte* /*scratch*/) {
        scores[static_cast<std::size_t>(frame)] = score(frame);
    });
    return scores;
}

rpca::Score score_masks(const ArrayIn<const std::uint8_t, 3, Host>& masks,
                        const ArrayIn<const std::uint8_t, 3, Host>& truth, int threads) {
    const auto found = view_of<const std::uint8_t, 3>(masks);
    const auto labels = view_of<const std::uint8_t, 3>(truth);
    core::expects_shape("truth", labels, found.extent);
    rpca::Score sum;
    CpuWorker worker(threads);
    worker.run([&] {
        const auto scores = scores_of_frames<rpca::Score>(
            worker.executor(), found.extent[0],
            [&](index_t frame) { return rpca::score(found[frame], labels[frame], {}); });
        for (const rpca::Score& score : scores) sum += score;
    });
    return sum;
}

/// Scores of comparisons of frames with their backgrounds, and the numbers of pixels that move.
std::vector<std::pair<rpca::Score, index_t>> score_thresholds(
    const ArrayIn<const float, 4, Host>& frames, const ArrayIn<const float, 4, Host>& backgrounds,
    const ArrayIn<const std::uint8_t, 3, Host>& truth, const std::vector<double>& thresholds,
    int threads) {
    const auto extent = view_of<const float, 4>(frames).extent;
    const auto from = frames_of<const float, Host>(FramesIn<const float, Host>(frames));
    const auto ground = frames_of<const float, Host>(FramesIn<const float, Host>(backgrounds));
    const auto labels = view_of<const std::uint8_t, 3>(truth);
    core::expects_shape("truth", labels, {extent[0], extent[2], extent[3]});
    for (const double threshold : thresholds) rpca::validate({.threshold = threshold});
    std::vector<std::pair<rpca::Score, index_t>> sums(thresholds.size());
    CpuWorker worker(threads);
    worker.run([&] {
        core::Array<float, 4> differences(extent);
        rpca::subtract_backgrounds(worker.executor(), from, ground,
                                   {differences.data(), from.extent});
        const auto scores = scores_of_frames<std::vector<rpca::ThresholdScore>>(
            worker.executor(), extent[0], [&](index_t frame) {
                return rpca::score_thresholds(std::as_const(differences).view()[frame],
                                              labels[frame], thresholds);
            });
        for (const auto& of_frame : scores) {
            for (std::size_t i = 0; i < sums.size(); ++i) {
                sums[i].first += of_frame[i].score;
                sums[i].second += of_frame[i].foreground;
            }
        }
    });
    return sums;
}

void bind_parameters(nb::module_& module) {
    using rpca::MaskParameters;
    using rpca::OnlineParameters;
    using rpca::Parameters;
    nb::class_<Parameters> bound(module, "RpcaParameters");
    bound.def(nb::init<>())
        .def_rw("lam", &Parameters::lambda)
        .def_rw("tolerance", &Parameters::tolerance)
        .def_rw("max_iterations", &Parameters::max_iterations)
        .def_rw("rank", &Parameters::rank);
    def_choice(
        bound, "solver", rpca::solver_choices, [](Parameters & p) -> auto& { return p.solver; });
    def_choice(
        bound, "svd", rpca::svd_choices, [](Parameters & p) -> auto& { return p.svd; });
    module.attr("LEAST_FP32_TOLERANCE") = rpca::least_fp32_tolerance;
    nb::class_<rpca::Outcome>(module, "RpcaOutcome")
        .def_ro("iterations", &rpca::Outcome::iterations)
        .def_ro("residual", &rpca::Outcome::residual)
        .def_ro("rank", &rpca::Outcome::rank)
        .def_ro("density", &rpca::Outcome::density)
        .def_ro("converged", &rpca::Outcome::converged);
    nb::class_<OnlineParameters>(module, "OnlineParameters")
        .def(nb::init<>())
        .def_rw("clip", &OnlineParameters::clip)
        .def_rw("memory", &OnlineParameters::memory)
        .def_rw("patience", &OnlineParameters::patience);
    module.attr("USUAL_BURN_IN") = rpca::usual_burn_in;
    nb::class_<MaskParameters>(module, "MaskParameters")
        .def(nb::init<>())
        .def_rw("threshold", &MaskParameters::threshold, nb::arg().none())
        .def_rw("noise_multiple", &MaskParameters::noise_multiple)
        .def_rw("clean", &MaskParameters::clean)
        .def_rw("min_area", &MaskParameters::min_area)
        .def_rw("hysteresis", &MaskParameters::hysteresis)
        .def_rw("fill_holes", &MaskParameters::fill_holes)
        .def_rw("remove_shadows", &MaskParameters::remove_shadows)
        .def_rw("remove_light", &MaskParameters::remove_light)
        .def("only_compares", &MaskParameters::only_compares);
}

void bind_subtraction(nb::module_& module) {
    const auto array = [] { return nb::arg().noconvert(); };
    nb::class_<OnlinePca>(module, "OnlinePca")
        .def(nb::init<index_t, const rpca::OnlineParameters&, int>())
        .def("begin", &OnlinePca::begin, array())
        .def("next", &OnlinePca::next, array(), array())
        .def("learn", &OnlinePca::learn, array());
    nb::class_<rpca::Score>(module, "MaskScore")
        .def_prop_ro("f_measure", &rpca::Score::f_measure)
        .def_prop_ro("precision", &rpca::Score::precision)
        .def_prop_ro("recall", &rpca::Score::recall)
        .def_prop_ro("fpr", &rpca::Score::false_positive_rate)
        .def_prop_ro("fnr", &rpca::Score::false_negative_rate)
        .def_prop_ro("pwc", &rpca::Score::percentage_of_wrong);
    module.def("score_masks", &score_masks, array(), array(), nb::arg());
    module.def("score_thresholds", &score_thresholds, array(), array(), array(), nb::arg(),
               nb::arg());
    nb::class_<MaskFinder>(module, "MaskFinder")
        .def(nb::init<const rpca::MaskParameters&, int>())
        .def("find", &MaskFinder::find, array(), array(), array(), nb::arg("anew"),
             array().none() = nb::none())
        .def("set_scales", &MaskFinder::set_scales, array());
    module.def(
        "clip_background",
        [](const ArrayIn<const float, 4, Host>& first, const ArrayIn<const float, 4, Host>& sampled,
           const ArrayIn<float, 3, Host>& background, const ArrayIn<float, 2, Host>& scales,
           int threads) {
            const auto from = view_of<const float, 4>(first);
            const auto of_all = view_of<const float, 4>(sampled);
            const auto ground = view_of<float, 3>(background);
            const auto sizes = view_of<float, 2>(scales);
            CpuWorker worker(threads);
            worker.run([&] {
                const auto clip = rpca::clip_background(worker.executor(), from, of_all);
                std::copy(clip.ground.begin(), clip.ground.end(), ground.data);
                std::copy(clip.scales.begin(), clip.scales.end(), sizes.data);
            });
        },
        array(), array(), array(), array(), nb::arg());
    module.def(
        "temporal_median",
        [](const FramesIn<const float, Host>& frames, const ArrayIn<float, 1, Host>& background,
           int threads) {
            const auto from = frames_of<const float, Host>(frames);
            const auto to = view_of<float, 1>(background);
            CpuWorker worker(threads);
            worker.run([&] { rpca::temporal_median(worker.executor(), from, to); });
        },
        array(), array(), nb::arg());
}
#endif

}  // namespace

void bind_rpca(nb::module_& module) {
#if !APERTURE_PYTHON_GPU
    bind_parameters(module);
    bind_subtraction(module);
#endif
    bind_robust_pca<float>(module, "RobustPca_float32");
    bind_robust_pca<double>(module, "RobustPca_float64");
}

}  // namespace aperture::python
