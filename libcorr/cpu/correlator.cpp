// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/correlator.hpp"

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "libcorr/cpu/direct.hpp"
#include "libcorr/cpu/fft_correlation.hpp"
#include "libcorr/cpu/ground_sums.hpp"

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
    GroundSums ground_sums;
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
    s.ground_sums.add(s.cpu, s.problem, of_a, of_b, sums);
}

}  // namespace aperture::corr
