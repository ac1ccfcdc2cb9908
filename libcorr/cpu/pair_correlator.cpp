// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/pair_correlator.hpp"

#include <algorithm>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/core/memory.hpp"
#include "aperture/core/shape.hpp"
#include "libcorr/cpu/fft_correlation.hpp"
#include "libcorr/cpu/ground_sums.hpp"
#include "libcorr/cpu/plane_rows.hpp"
#include "libcorr/pair_checks.hpp"

namespace aperture::corr {
namespace {

using core::Host;

/// The data kept of an image.
struct TakenImage {
    bool taken = false;
    core::Array<float, 3> spectra;
    core::Array<float, 3> planes;  ///< for the sums that other images' grounds multiply
    Ground ground;

    GroundedPlanes grounded() const { return {planes, ground}; }
};

template <int Rank>
double elements(const core::Extents<Rank>& extents) {
    double product = 1;
    for (const index_t extent : extents) product *= static_cast<double>(extent);
    return product;
}

}  // namespace

template <>
struct PairCorrelator<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    FftCorrelation fft;
    GroundSums ground_sums;
    std::vector<TakenImage> images;

    State(core::Cpu& executor, const Problem& p, index_t count)
        : cpu(executor), problem(p), fft(p) {
        const core::Extents<3> planes{p.planes, p.image.rows, p.image.columns};
        const core::Extents<3> spectra = fft.spectra_extent();
        expects_memory(count, (elements(planes) + elements(spectra)) * sizeof(float),
                       core::available_memory());
        for (index_t i = 0; i < count; ++i) {
            images.push_back({false, core::Array<float, 3>(spectra), core::Array<float, 3>(planes),
                              Ground(p.planes, p.image.rows)});
        }
    }

    TakenImage& image(index_t i) {
        expects_image(i, std::ssize(images));
        return images[static_cast<std::size_t>(i)];
    }
};

template <>
PairCorrelator<core::Cpu>::PairCorrelator(core::Cpu& cpu, const Problem& problem, index_t images) {
    validate(problem);
    core::expects(images >= 1, images, " images, expected at least 1");
    state_ = std::make_unique<State>(cpu, problem, images);
}
template <>
PairCorrelator<core::Cpu>::~PairCorrelator() = default;
template <>
PairCorrelator<core::Cpu>::PairCorrelator(PairCorrelator&&) noexcept = default;
template <>
PairCorrelator<core::Cpu>& PairCorrelator<core::Cpu>::operator=(PairCorrelator&&) noexcept =
    default;

template <>
void PairCorrelator<core::Cpu>::take(index_t image, PlanesView<Host> planes) {
    State& s = *state_;
    const auto [rows, columns] = s.problem.image;
    TakenImage& kept = s.image(image);
    core::expects_shape("planes", planes, {s.problem.planes, rows, columns},
                        core::Strides::unit_last);
    const index_t width = columns;
    for_plane_rows(s.cpu, s.problem.planes, rows, [&](index_t p, index_t y) {
        std::copy_n(&planes(p, y, 0), width, &kept.planes(p, y, 0));
    });
    kept.ground.find(s.cpu, std::as_const(kept.planes));
    s.fft.transform(s.cpu, kept.grounded(), kept.spectra);
    kept.taken = true;
}

template <>
void PairCorrelator<core::Cpu>::run(index_t a, index_t b, core::View<double, 3, Host> sums) {
    State& s = *state_;
    const Shape extent = s.problem.lags.extent();
    core::expects_shape("sums", sums,
                        {s.problem.each_plane ? s.problem.planes : 1, extent.rows, extent.columns},
                        core::Strides::dense);
    const TakenImage& of_a = s.image(a);
    const TakenImage& of_b = s.image(b);
    expects_taken(a, of_a.taken, b, of_b.taken);
    s.fft.correlate(s.cpu, of_a.spectra, of_b.spectra, sums);
    s.ground_sums.add(s.cpu, s.problem, of_a.grounded(), of_b.grounded(), sums);
}

}  // namespace aperture::corr
