// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aperture/core/choices.hpp"
#include "aperture/rpca/camera_motion.hpp"
#include "aperture/signal/global_motion.hpp"
#include "aperture/signal/registration.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

using core::Host;

/// Copies a square matrix.
template <int Order>
void store(const double (&from)[Order][Order], const core::View<double, 2, Host>& to) {
    for (int i = 0; i < Order; ++i) {
        for (int j = 0; j < Order; ++j) to(i, j) = from[i][j];
    }
}

/// Fits motions of images of one shape on the module's executor.
template <class Worker>
class ImageMotion {
    using Executor = typename Worker::Executor;

  public:
    /// `where`: the number of threads, or of the GPU.
    explicit ImageMotion(int where) : worker_(where) {}

    void prepare(std::uintptr_t stream, const std::string& model,
                 const std::tuple<index_t, index_t>& extent) {
        const auto chosen = core::parse_choice("model", signal::motion_model_choices, model);
        worker_.run(stream, [&] {
            fit_.emplace(worker_.executor(),
                         core::Extents<2>{std::get<0>(extent), std::get<1>(extent)}, chosen);
        });
    }

    /// `matrices` is [frame][3][3], `covariance` [frame][8][8]; `numbers` are [6][frame]: gain,
    /// offset, deviation, inliers, iterations, converged. If `started`, matrices begin as starts.
    void run(std::uintptr_t stream, const ArrayIn<const float, 2, Space>& reference,
             const ArrayIn<const float, 3, Space>& frames, bool started,
             const ArrayIn<double, 3, Host>& matrices, const ArrayIn<double, 3, Host>& covariance,
             const ArrayIn<double, 2, Host>& numbers) {
        const auto of_reference = view_of<const float, 2, Space>(reference);
        const auto of_frames = view_of<const float, 3, Space>(frames);
        const auto to_maps = view_of<double, 3>(matrices);
        const auto to_covariance = view_of<double, 3>(covariance);
        const auto to_numbers = view_of<double, 2>(numbers);
        worker_.run(stream, [&] {
            std::vector<signal::PixelMap> starts;
            for (index_t f = 0; started && f < to_maps.extent[0]; ++f) {
                auto& start = starts.emplace_back().at;
                for (int i = 0; i < 3; ++i) {
                    for (int j = 0; j < 3; ++j) start[i][j] = to_maps(f, i, j);
                }
            }
            fit_->set_reference(of_reference);
            const std::vector<signal::GlobalMotion> motions = fit_->run(of_frames, starts);
            for (std::size_t m = 0; m < motions.size(); ++m) {
                const signal::GlobalMotion& motion = motions[m];
                const auto f = static_cast<index_t>(m);
                store(motion.map.at, to_maps[f]);
                store(motion.covariance, to_covariance[f]);
                const double found[] = {motion.gain,
                                        motion.offset,
                                        motion.deviation,
                                        motion.inliers,
                                        static_cast<double>(motion.iterations),
                                        motion.converged ? 1.0 : 0.0};
                for (index_t n = 0; n < 6; ++n) to_numbers(n, f) = found[n];
            }
        });
    }
    Worker& worker() { return worker_; }

  private:
    Worker worker_;
    std::optional<signal::MotionFit<Executor>> fit_;
};

#if !APERTURE_PYTHON_GPU
class CameraMotion {
    using Frames = ArrayIn<float, 4, Host>;
    using ConstFrames = ArrayIn<const float, 4, Host>;

  public:
    CameraMotion(const ConstFrames& frames, const std::string& how, int threads)
        : worker_(threads) {
        const auto chosen = core::parse_choice("how", rpca::stabilise_choices, how);
        const auto from = view_of<const float, 4>(frames);
        worker_.run([&] { motion_.emplace(worker_.executor(), from, chosen); });
    }

    bool moves() const { return motion_->moves(); }
    double shake() const { return motion_->shake(); }
    std::tuple<index_t, index_t> shape() const {
        return {motion_->extent()[0], motion_->extent()[1]};
    }
    /// [frame][2]; NaN where a frame has no motion.
    void shifts(const ArrayIn<double, 2, Host>& shifts) const {
        const auto to = view_of<double, 2>(shifts);
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        for (index_t f = 0; f < to.extent[0]; ++f) {
            const auto shift = motion_->shifts()[static_cast<std::size_t>(f)].value_or(
                std::array<double, 2>{none, none});
            std::copy(shift.begin(), shift.end(), &to(f, 0));
        }
    }
    void to_common(const ConstFrames& frames, const Frames& common) {
        const auto from = view_of<const float, 4>(frames);
        const auto to = view_of<float, 4>(common);
        worker_.run([&] { motion_->to_common(from, to); });
    }
    void from_common(const ConstFrames& common, const ConstFrames& frames,
                     const Frames& backgrounds) {
        const auto from = view_of<const float, 4>(common);
        const auto own = view_of<const float, 4>(frames);
        const auto to = view_of<float, 4>(backgrounds);
        worker_.run([&] { motion_->from_common(from, own, to); });
    }

  private:
    CpuWorker worker_;
    std::optional<rpca::CameraMotion<core::Cpu>> motion_;
};
#endif

}  // namespace

void bind_motion(nb::module_& module) {
    using Work = ImageMotion<Worker>;
    const auto array = [] { return nb::arg().noconvert(); };
    nb::class_<Work> bound(module, "ImageMotion");
    bound.def(nb::init<int>())
        .def("prepare", &Work::prepare)
        .def("run", &Work::run, nb::arg(), array(), array(), nb::arg("started"), array(), array(),
             array());
    bind_stream(bound);
#if !APERTURE_PYTHON_GPU
    module.def(
        "pixel_map",
        [](double dy, double dx, double rotation, double scale,
           const std::tuple<index_t, index_t>& extent, const ArrayIn<double, 2, Host>& matrix) {
            signal::Alignment alignment;
            alignment.dy = dy;
            alignment.dx = dx;
            alignment.rotation = rotation;
            alignment.scale = scale;
            store(signal::pixel_map(alignment, {std::get<0>(extent), std::get<1>(extent)}).at,
                  view_of<double, 2>(matrix));
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), array());
    nb::class_<CameraMotion>(module, "CameraMotion")
        .def(nb::init<const ArrayIn<const float, 4, Host>&, const std::string&, int>(), array(),
             nb::arg(), nb::arg())
        .def_prop_ro("moves", &CameraMotion::moves)
        .def_prop_ro("shake", &CameraMotion::shake)
        .def_prop_ro("shape", &CameraMotion::shape)
        .def("shifts", &CameraMotion::shifts, array())
        .def("to_common", &CameraMotion::to_common, array(), array())
        .def("from_common", &CameraMotion::from_common, array(), array(), array());
#endif
}

}  // namespace aperture::python
