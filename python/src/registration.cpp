// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/registration.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>
#include <tuple>

#include "aperture/signal/grey.hpp"
#include "python/src/bindings.hpp"
#include "python/src/pixels.hpp"

namespace aperture::python {
namespace {

/// Images are [row][column] or [row][column][channel].
using Image = nb::ndarray<const float, DeviceOf<Space>::type>;

/// Registers images of one shape on the module's executor.
template <class Worker>
class ImageRegistration {
    using Executor = typename Worker::Executor;

  public:
    /// `where`: the number of threads, or of the GPU.
    explicit ImageRegistration(int where) : worker_(where) {}

    void prepare(std::uintptr_t stream, const std::string& motion,
                 const std::tuple<index_t, index_t>& extent) {
        const auto chosen = core::parse_choice("motion", signal::motion_choices, motion);
        worker_.run(stream, [&] {
            const core::Extents<2> image{std::get<0>(extent), std::get<1>(extent)};
            registration_.emplace(worker_.executor(), image, chosen);
            for (auto& grey : grey_) grey.reshape(image);
        });
    }

    signal::Alignment run(std::uintptr_t stream, const Image& a, const Image& b) {
        return worker_.run(stream, [&] {
            signal::to_grey(worker_.executor(), planes_in<const float>(a), grey_[0].view());
            signal::to_grey(worker_.executor(), planes_in<const float>(b), grey_[1].view());
            return registration_->run(std::as_const(grey_[0]).view(),
                                      std::as_const(grey_[1]).view());
        });
    }
    Worker& worker() { return worker_; }

  private:
    Worker worker_;
    std::optional<signal::Registration<Executor>> registration_;
    core::Array<float, 2, Space> grey_[2];
};

}  // namespace

void bind_registration(nb::module_& module) {
    using Work = ImageRegistration<Worker>;
#if !APERTURE_PYTHON_GPU
    using signal::Alignment;
    nb::class_<Alignment>(module, "Alignment")
        .def_ro("dy", &Alignment::dy)
        .def_ro("dx", &Alignment::dx)
        .def_ro("rotation", &Alignment::rotation)
        .def_ro("scale", &Alignment::scale)
        .def_ro("dy_deviation", &Alignment::dy_deviation)
        .def_ro("dx_deviation", &Alignment::dx_deviation)
        .def_ro("rotation_deviation", &Alignment::rotation_deviation)
        .def_ro("scale_deviation", &Alignment::scale_deviation)
        .def_ro("correlation", &Alignment::correlation)
        .def_ro("found", &Alignment::found);
#endif
    nb::class_<Work> bound(module, "ImageRegistration");
    bound.def(nb::init<int>())
        .def("prepare", &Work::prepare)
        .def("run", &Work::run, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert());
    bind_stream(bound);
}

}  // namespace aperture::python
