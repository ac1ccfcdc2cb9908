// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/correlator.hpp"

#include <variant>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "libcorr/cpu/direct.hpp"
#include "libcorr/cpu/fft_correlation.hpp"
#include "libcorr/cpu/overlap_sums.hpp"

namespace aperture::corr {
void validate(const Problem& problem) {
    const auto& [rows, columns] = problem.image;
    core::expects(problem.planes >= 1 && rows >= 1 && columns >= 1, "correlation of ",
                  problem.planes, " planes of ", rows, " x ", columns, " pixels");
    const Lags& lags = problem.lags;
    core::expects(
        lags.rows >= 1 && lags.columns >= 1 && lags.rows <= rows && lags.columns <= columns,
        "offsets are ", lags.rows, " x ", lags.columns, ", expected 1 x 1 to ", rows, " x ",
        columns, ", the size of the image");
    core::expects(problem.images >= 1, problem.images, " images");
    const DirectOptions& direct = problem.direct;
    const bool plain = direct.precision == Precision::fp32 &&
                       direct.layout == PlaneLayout::separate && !direct.tile;
    core::expects(plain || problem.method == Method::direct,
                  "a precision other than fp32, packed planes and a tile need the direct method");
    core::expects(direct.layout == PlaneLayout::separate ||
                      (direct.precision == Precision::fp32 && !problem.each_plane),
                  "packed planes need fp32 and one surface for all planes");
}

template <>
struct Correlator<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    Ground ground_a;
    Ground ground_b;
    signal::SummedAreas areas;
    std::variant<FftCorrelation, DirectCorrelation<float>, DirectCorrelation<double>> method;

    State(core::Cpu& executor, const Problem& p)
        : cpu(executor),
          problem(p),
          ground_a(p.planes, p.image.rows),
          ground_b(p.planes, p.image.rows) {
        core::expects(p.direct.precision != Precision::tf32x3,
                      "precision tf32x3 is that of a GPU's tensor cores; a CPU has fp32 and fp64");
        core::expects(p.direct.layout == PlaneLayout::separate && !p.direct.tile,
                      "packed planes and tiles are a GPU's");
        if (p.method == Method::fft) {
            method = FftCorrelation(p);
        } else if (p.direct.precision == Precision::fp64) {
            method = DirectCorrelation<double>(p);
        } else {
            method = DirectCorrelation<float>(p);
        }
    }

    /// Of one image.
    void run(PlanesView<core::Host> a, PlanesView<core::Host> b, bool same,
             core::View<double, 3, core::Host> sums) {
        ground_a.find(cpu, a);
        if (!same) ground_b.find(cpu, b);
        const Ground& other = same ? ground_a : ground_b;
        const GroundedPlanes of_a{a, ground_a};
        const GroundedPlanes of_b{b, other};
        std::visit([&](auto& by_method) { by_method.run(cpu, of_a, of_b, same, sums); }, method);
        add_ground(of_a, Side::a, other, sums);
        add_ground(of_b, Side::b, ground_a, sums);
        add_both_grounds(ground_a, other, sums);
    }

  private:
    index_t surface_of(index_t plane) const { return problem.each_plane ? plane : 0; }

    /// With A = A' + g and B = B' + h, sum A B is sum A' B' + g sum B' + h sum A' + N g h. Here the
    /// other image's ground times the sum of this one's plane without its own is added.
    void add_ground(const GroundedPlanes& image, Side side, const Ground& other,
                    core::View<double, 3, core::Host> sums) {
        for (index_t p = 0; p < problem.planes; ++p) {
            const double factor = other.of(p);
            if (factor == 0) continue;
            areas.take(cpu, image.planes.slice(0, p, p + 1), image.ground.of(p));
            for_overlap_sums(cpu, areas, problem.image, problem.lags, side,
                             [&](index_t i, index_t j, double sum) {
                                 sums(surface_of(p), i, j) += factor * sum;
                             });
        }
    }

    void add_both_grounds(const Ground& a, const Ground& b,
                          core::View<double, 3, core::Host> sums) const {
        const Lags& lags = problem.lags;
        for (index_t p = 0; p < problem.planes; ++p) {
            const double both = a.of(p) * b.of(p);
            if (both == 0) continue;
            for (index_t i = 0; i < lags.extent().rows; ++i) {
                const index_t rows = overlap(problem.image.rows, lags.first_row() + i);
                for (index_t j = 0; j < lags.extent().columns; ++j) {
                    const index_t columns = overlap(problem.image.columns, lags.first_column() + j);
                    sums(surface_of(p), i, j) += both * static_cast<double>(rows * columns);
                }
            }
        }
    }
};

template <>
Correlator<core::Cpu>::Correlator(core::Cpu& cpu, const Problem& problem) {
    validate(problem);
    state_ = std::make_unique<State>(cpu, problem);
}
template <>
Correlator<core::Cpu>::~Correlator() = default;
template <>
Correlator<core::Cpu>::Correlator(Correlator&&) noexcept = default;
template <>
Correlator<core::Cpu>& Correlator<core::Cpu>::operator=(Correlator&&) noexcept = default;

template <>
void Correlator<core::Cpu>::run(PlanesView<core::Host> a, PlanesView<core::Host> b,
                                core::View<double, 3, core::Host> sums) {
    State& s = *state_;
    const auto [rows, columns] = s.problem.image;
    const Shape extent = s.problem.lags.extent();
    const index_t planes = s.problem.images * s.problem.planes;
    const index_t surfaces = s.problem.each_plane ? s.problem.planes : 1;
    core::expects_shape("image a", a, {planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("image b", b, {planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("sums", sums, {s.problem.images * surfaces, extent.rows, extent.columns},
                        core::Strides::dense);
    const bool same = a.data == b.data && a.stride == b.stride;
    for (index_t image = 0; image < s.problem.images; ++image) {
        const auto of_image = [&](const auto& view, index_t count) {
            return view.slice(0, image * count, (image + 1) * count);
        };
        s.run(of_image(a, s.problem.planes), of_image(b, s.problem.planes), same,
              of_image(sums, surfaces));
    }
}

}  // namespace aperture::corr
