// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/correlator.hpp"

#include <variant>

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
    core::expects(problem.images >= 1, problem.images, " images");
    core::expects(problem.precision == Precision::fp32 || problem.method == Method::direct,
                  "a precision other than fp32 needs the direct method");
}

template <>
struct Correlator<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    Ground ground_a;
    Ground ground_b;
    GroundSums ground_sums;
    std::variant<FftCorrelation, DirectCorrelation<float>, DirectCorrelation<double>> method;

    State(core::Cpu& executor, const Problem& p)
        : cpu(executor),
          problem(p),
          ground_a(p.planes, p.image.rows),
          ground_b(p.planes, p.image.rows) {
        core::expects(p.precision != Precision::tf32x3,
                      "precision tf32x3 is that of a GPU's tensor cores; a CPU has fp32 and fp64");
        if (p.method == Method::fft) {
            method = FftCorrelation(p);
        } else if (p.precision == Precision::fp64) {
            method = DirectCorrelation<double>(p);
        } else {
            method = DirectCorrelation<float>(p);
        }
    }

    /// Correlates one image.
    void run(PlanesView<core::Host> a, PlanesView<core::Host> b, bool same,
             core::View<double, 3, core::Host> sums) {
        ground_a.find(cpu, a);
        if (!same) ground_b.find(cpu, b);
        const GroundedPlanes of_a{a, ground_a};
        const GroundedPlanes of_b{b, same ? ground_a : ground_b};
        std::visit([&](auto& by_method) { by_method.run(cpu, of_a, of_b, same, sums); }, method);
        ground_sums.add(cpu, problem, of_a, of_b, sums);
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
