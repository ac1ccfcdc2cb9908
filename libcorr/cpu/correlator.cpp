// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/correlator.hpp"

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
}

template <>
struct Correlator<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    Ground ground_a;
    Ground ground_b;
    signal::SummedAreas areas;
    DirectCorrelation direct;
    FftCorrelation fft;

    State(core::Cpu& executor, const Problem& p)
        : cpu(executor),
          problem(p),
          ground_a(p.planes, p.image.rows),
          ground_b(p.planes, p.image.rows) {
        if (p.method == Method::direct) {
            direct = DirectCorrelation(p);
        } else {
            fft = FftCorrelation(p);
        }
    }

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
    core::expects_shape("image a", a, {s.problem.planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("image b", b, {s.problem.planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("sums", sums,
                        {s.problem.each_plane ? s.problem.planes : 1, extent.rows, extent.columns},
                        core::Strides::dense);
    const bool same = a.data == b.data && a.stride == b.stride;
    s.ground_a.find(s.cpu, a);
    if (!same) s.ground_b.find(s.cpu, b);
    const Ground& ground_b = same ? s.ground_a : s.ground_b;
    const GroundedPlanes of_a{a, s.ground_a};
    const GroundedPlanes of_b{b, ground_b};
    if (s.problem.method == Method::direct) {
        s.direct.run(s.cpu, of_a, of_b, same, sums);
    } else {
        s.fft.run(s.cpu, of_a, of_b, same, sums);
    }
    s.add_ground(of_a, Side::a, ground_b, sums);
    s.add_ground(of_b, Side::b, s.ground_a, sums);
    s.add_both_grounds(s.ground_a, ground_b, sums);
}

}  // namespace aperture::corr
