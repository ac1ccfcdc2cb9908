// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aperture/corr/image_correlator.hpp"
#include "aperture/corr/statistics.hpp"
#include "aperture/corr/words.hpp"
#include "aperture/signal/copy_planes.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/pixels.hpp"
#include "python/src/words.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

/// Images are [row][column] or [row][column][channel], or their planes [plane][row][column].
using Image = nb::ndarray<const float, DeviceOf<Space>::type>;
using Mask = ArrayIn<const float, 2, Space>;

/// Correlates images of one shape on the module's executor.
template <class Worker>
class ImageCorrelation {
    using Executor = typename Worker::Executor;

  public:
    /// `where`: the number of threads, or of the GPU.
    explicit ImageCorrelation(int where) : worker_(where) {}

    /// `extent`: channels or planes, rows, columns.
    void prepare(std::uintptr_t stream, const corr::Parameters& parameters,
                 const std::tuple<index_t, index_t, index_t>& extent, bool pair,
                 const std::vector<Mask>& given_masks) {
        const auto [channels, rows, columns] = extent;
        const core::Extents<3> image{channels, rows, columns};
        stored_planes_ = !parameters.planes;
        worker_.run(stream, [&] {
            std::vector<core::Array<float, 2, Space>> masks;
            for (const Mask& mask : given_masks) {
                masks.push_back(copy_of(view_of<const float, 2, Space>(mask)));
            }
            correlator_.emplace(worker_.executor(), parameters, image, pair, std::move(masks));
        });
    }

    void set_sigma(double sigma) { correlator_->set_orientation_sigma(sigma); }

    /// Planes, rows and columns of the results.
    std::tuple<index_t, index_t, index_t> shape() const {
        const corr::Shape extent = correlator_->problem().lags.extent();
        return {correlator_->problem().planes, extent.rows, extent.columns};
    }
    corr::Lags lags() const { return correlator_->problem().lags; }
    std::string method() const {
        return core::choice_name(corr::method_choices,
                                 std::optional(correlator_->problem().method));
    }

    /// Correlates `a` with itself or with `b`.
    void run(std::uintptr_t stream, const Image& a, const std::optional<Image>& b,
             const ArrayIn<double, 2, Space>& surface, const ArrayIn<double, 3, Space>& planes,
             const ArrayIn<std::int64_t, 2, Space>& overlap) {
        const corr::SurfaceViews<Space> results{view_of<double, 2, Space>(surface),
                                                view_of<double, 3, Space>(planes),
                                                view_of<std::int64_t, 2, Space>(overlap)};
        worker_.run(stream, [&] {
            const corr::PlanesView<Space> of_a = load(a, images_[0]);
            correlator_->correlate(of_a, b ? load(*b, images_[1]) : of_a, results);
        });
    }
    Worker& worker() { return worker_; }

  private:
    core::Array<float, 2, Space> copy_of(const core::View<const float, 2, Space>& mask) {
        core::Array<float, 2, Space> copy(mask.extent);
        const auto [rows, columns] = mask.extent;
        signal::copy_planes(worker_.executor(),
                            core::View<const float, 3, Space>(mask.data, {1, rows, columns},
                                                              {0, mask.stride[0], mask.stride[1]}),
                            core::View<float, 3, Space>(copy.data(), {1, rows, columns}));
        return copy;
    }
    /// The image as the correlator accepts it; channels become planes in `copy`.
    corr::PlanesView<Space> load(const Image& image, core::Array<float, 3, Space>& copy) {
        core::expects(image.ndim() == 3 || !stored_planes_, "planes of rank ", image.ndim());
        if (stored_planes_) return view_of<const float, 3, Space>(Planes(image));
        const auto pixels = planes_in<const float>(image);
        copy.reshape(pixels.extent);
        signal::copy_planes(worker_.executor(), pixels, copy.view());
        return std::as_const(copy).view();
    }
    using Planes = ArrayIn<const float, 3, Space>;

    Worker worker_;
    bool stored_planes_ = false;
    std::optional<corr::ImageCorrelator<Executor>> correlator_;
    core::Array<float, 3, Space> images_[2];
};

void bind_correlation(nb::module_& module) {
    using Correlation = ImageCorrelation<Worker>;
    const auto array = [] { return nb::arg().noconvert(); };
    nb::class_<Correlation> bound(module, "ImageCorrelation");
    bound.def(nb::init<int>())
        .def("prepare", &Correlation::prepare)
        .def("set_sigma", &Correlation::set_sigma)
        .def_prop_ro("shape", &Correlation::shape)
        .def_prop_ro("lags", &Correlation::lags)
        .def_prop_ro("method", &Correlation::method)
        .def("run", &Correlation::run, nb::arg(), array(), array().none(), array(), array(),
             array());
    bind_stream(bound);
}

#if !APERTURE_PYTHON_GPU
using PeakRow = std::tuple<double, double, double>;  ///< dy, dx, value

std::optional<PeakRow> row_of(const std::optional<corr::Peak>& peak) {
    if (!peak) return std::nullopt;
    return PeakRow(peak->dy, peak->dx, peak->value);
}

/// Lags, and what a surface of them says: correlation lengths in x and y, the strongest peak, and
/// the largest value if it is on the border.
void bind_findings(nb::module_& module) {
    nb::class_<corr::Lags>(module, "Lags")
        .def(nb::init<index_t, index_t, bool>())
        .def_ro("rows", &corr::Lags::rows)
        .def_ro("columns", &corr::Lags::columns)
        .def_ro("both_signs", &corr::Lags::both_signs)
        .def_prop_ro("first_row", &corr::Lags::first_row)
        .def_prop_ro("first_column", &corr::Lags::first_column);
    module.def(
        "find_in_surface",
        [](const ArrayIn<const double, 2, core::Host>& surface, const corr::Lags& lags,
           const std::string& estimator, bool pair) {
            const corr::SurfaceFindings found = corr::find_out(
                view_of<const double, 2>(surface), lags,
                core::parse_choice("estimator", corr::estimator_choices, estimator), pair);
            return std::tuple(found.lengths.x, found.lengths.y, row_of(found.peak),
                              row_of(found.on_border));
        },
        nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
}

void bind_parameters(nb::module_& module) {
    using corr::Parameters;
    nb::class_<Parameters> bound(module, "CorrParameters");
    bound.def(nb::init<>())
        .def_prop_rw(
            "planes",
            [](const Parameters& p) {
                std::optional<std::string> word;
                if (p.planes) word = core::choice_name(corr::plane_choices, *p.planes);
                return word;
            },
            [](Parameters& p, const std::optional<std::string>& word) {
                p.planes.reset();
                if (word) p.planes = core::parse_choice("planes", corr::plane_choices, *word);
            },
            nb::arg().none())
        .def_prop_rw(
            "normalize",
            [](const Parameters& p) {
                return core::choice_name(corr::normalization_choices, p.normalized());
            },
            [](Parameters& p, const std::string& word) {
                p.normalization =
                    core::parse_choice("normalize", corr::normalization_choices, word);
            })
        .def_prop_rw(
            "signed", [](const Parameters& p) { return p.both_signs.value_or(false); },
            [](Parameters& p, bool both_signs) { p.both_signs = both_signs; })
        .def_rw("sigma", &Parameters::orientation_sigma)
        .def("set_offsets", [](Parameters& p, index_t rows, index_t columns) {
            p.offsets = corr::Shape{rows, columns};
        });
    def_choice(
        bound, "estimator", corr::estimator_choices,
        [](Parameters & p) -> auto& { return p.estimator; });
    def_choice(
        bound, "method", corr::method_choices, [](Parameters & p) -> auto& { return p.method; });
    def_choice(
        bound, "precision", corr::precision_choices,
        [](Parameters & p) -> auto& { return p.precision; });
}
#endif

}  // namespace

void bind_corr(nb::module_& module) {
#if !APERTURE_PYTHON_GPU
    bind_parameters(module);
    bind_findings(module);
#endif
    bind_correlation(module);
}

}  // namespace aperture::python
