// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aperture/corr/statistics.hpp"
#include "aperture/corr/words.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/words.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

using core::Host;
using Image = ArrayIn<const float, 3, Host>;
using Mask = ArrayIn<const float, 2, Host>;
using PeakRow = std::tuple<double, double, double>;  ///< dy, dx, value

std::optional<PeakRow> row_of(const std::optional<corr::Peak>& peak) {
    if (!peak) return std::nullopt;
    return PeakRow(peak->dy, peak->dx, peak->value);
}

/// Correlates images of one shape on an executor. Images and results are in host memory.
template <class Worker>
class ImageCorrelation {
    using Executor = typename Worker::Executor;

  public:
    /// `extent`: channels, rows, columns. `where`: the number of threads, or of the GPU.
    ImageCorrelation(const corr::Parameters& parameters,
                     const std::tuple<index_t, index_t, index_t>& extent, bool pair,
                     const std::optional<Mask>& mask_a, const std::optional<Mask>& mask_b,
                     int where)
        : worker_(where), estimator_(parameters.estimator), pair_(pair) {
        const auto [channels, rows, columns] = extent;
        const core::Extents<3> image{channels, rows, columns};
        std::vector<core::Array<float, 2>> masks;
        for (const std::optional<Mask>& mask : {mask_a, mask_b}) {
            if (mask) masks.push_back(copy_of(view_of<const float, 2>(*mask)));
        }
        worker_.run(0, [&] {
            correlator_.emplace(worker_.executor(), cpu(), parameters, image, pair,
                                std::move(masks));
        });
    }

    /// Planes, rows and columns of the results.
    std::tuple<index_t, index_t, index_t> shape() const {
        const corr::Shape extent = correlator_->problem().lags.extent();
        return {correlator_->problem().planes, extent.rows, extent.columns};
    }
    /// The displacement of the first entry, dy and dx.
    std::pair<index_t, index_t> first() const {
        const corr::Lags& lags = correlator_->problem().lags;
        return {lags.first_row(), lags.first_column()};
    }
    std::string method() const {
        return core::choice_name(corr::method_choices,
                                 std::optional(correlator_->problem().method));
    }

    /// Correlates `a` with itself or with `b`. Returns correlation lengths in x and y, the
    /// strongest peak, and the largest value if it is on the border.
    std::tuple<std::optional<double>, std::optional<double>, std::optional<PeakRow>,
               std::optional<PeakRow>>
    run(std::uintptr_t stream, const Image& a, const std::optional<Image>& b,
        const ArrayIn<double, 2, Host>& surface, const ArrayIn<double, 3, Host>& planes,
        const ArrayIn<std::int64_t, 2, Host>& overlap) {
        const auto of_a = view_of<const float, 3>(a);
        const auto of_b = b ? view_of<const float, 3>(*b) : of_a;
        const auto to_surface = view_of<double, 2>(surface);
        const auto to_planes = view_of<double, 3>(planes);
        const auto to_overlap = view_of<std::int64_t, 2>(overlap);
        const corr::SurfaceFindings found = worker_.run(stream, [&] {
            correlator_->run(of_a, of_b);
            const corr::Surfaces& surfaces = correlator_->surfaces();
            const auto same = [](double value) { return value; };
            store("surface", surfaces.surface, to_surface, same);
            store("planes", surfaces.planes, to_planes, same);
            store("overlap", surfaces.counts, to_overlap,
                  [](double count) { return std::int64_t{std::llround(count)}; });
            return corr::find_out(surfaces.surface, correlator_->problem().lags, estimator_, pair_);
        });
        return {found.lengths.x, found.lengths.y, row_of(found.peak), row_of(found.on_border)};
    }
    Worker& worker() { return worker_; }

  private:
    static core::Array<float, 2> copy_of(const core::View<const float, 2, Host>& mask) {
        core::Array<float, 2> copy(mask.extent);
        for (index_t y = 0; y < mask.extent[0]; ++y)
            for (index_t x = 0; x < mask.extent[1]; ++x) copy(y, x) = mask(y, x);
        return copy;
    }
    template <class To, int Rank, class Convert>
    static void store(const char* name, const core::Array<double, Rank>& from,
                      const core::View<To, Rank, Host>& to, const Convert& convert) {
        core::expects_shape(name, to, from.extent(), core::Strides::dense);
        std::transform(from.begin(), from.end(), to.data, convert);
    }
    /// What computes surfaces from sums.
    core::Cpu& cpu() {
        if constexpr (core::is_gpu<Executor>) {
            return beside_gpu_;
        } else {
            return worker_.executor();
        }
    }

    Worker worker_;
    core::Cpu beside_gpu_;
    corr::Estimator estimator_;
    bool pair_;
    std::optional<corr::ImageCorrelator<Executor>> correlator_;
};

void bind_correlation(nb::module_& module) {
    using Correlation = ImageCorrelation<Worker>;
    const auto array = [] { return nb::arg().noconvert(); };
    nb::class_<Correlation> bound(module, "ImageCorrelation");
    bound
        .def(nb::init<const corr::Parameters&, const std::tuple<index_t, index_t, index_t>&, bool,
                      const std::optional<Mask>&, const std::optional<Mask>&, int>(),
             nb::arg(), nb::arg(), nb::arg(), array().none(), array().none(), nb::arg())
        .def_prop_ro("shape", &Correlation::shape)
        .def_prop_ro("first", &Correlation::first)
        .def_prop_ro("method", &Correlation::method)
        .def("run", &Correlation::run, nb::arg(), array(), array().none(), array(), array(),
             array());
    bind_stream(bound);
}

#if !APERTURE_PYTHON_GPU
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
#endif
    bind_correlation(module);
}

}  // namespace aperture::python
