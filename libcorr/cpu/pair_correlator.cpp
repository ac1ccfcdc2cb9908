// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libcorr/correlators.hpp"
#include "libcorr/cpu/fft_correlation.hpp"
#include "libcorr/cpu/plane_rows.hpp"

namespace aperture::corr {
using core::Host;

template <>
class PairOperations<core::Cpu> {
  public:
    PairOperations(core::Cpu& cpu, const Problem& problem)
        : cpu_(cpu), problem_(problem), fft_(problem) {}

    double bytes_of_image() const {
        const auto [planes, blocks, numbers] = fft_.spectra_extent();
        const index_t pixels = problem_.image.rows * problem_.image.columns;
        return static_cast<double>(planes * (pixels + blocks * numbers)) * sizeof(float);
    }
    void reserve(index_t images) {
        for (index_t i = 0; i < images; ++i) {
            images_.push_back({core::Array<float, 3>(fft_.spectra_extent()),
                               core::Array<float, 3>(planes_extent()),
                               Ground(problem_.planes, problem_.image.rows)});
        }
    }

    void keep(index_t image, PlanesView<Host> planes) {
        Image& kept = of(image);
        for_plane_rows(cpu_, problem_.planes, problem_.image.rows, [&](index_t p, index_t y) {
            std::copy_n(&planes(p, y, 0), problem_.image.columns, &kept.planes(p, y, 0));
        });
        kept.ground.find(cpu_, std::as_const(kept.planes));
        fft_.transform(cpu_, kept.grounded(), kept.spectra);
    }

    void correlate(index_t a, index_t b, core::View<double, 3, Host> sums) {
        fft_.correlate(cpu_, std::as_const(of(a).spectra), std::as_const(of(b).spectra), sums);
        ground_sums_.add(cpu_, problem_, of(a).grounded(), of(b).grounded(), sums);
    }

  private:
    struct Image {
        core::Array<float, 3> spectra;
        core::Array<float, 3> planes;  ///< for the sums that other images' grounds multiply
        Ground ground;

        GroundedPlanes grounded() const { return {planes, ground}; }
    };

    Image& of(index_t image) { return images_[static_cast<std::size_t>(image)]; }
    core::Extents<3> planes_extent() const {
        return {problem_.planes, problem_.image.rows, problem_.image.columns};
    }

    core::Cpu& cpu_;
    Problem problem_;
    FftCorrelation fft_;
    GroundSums ground_sums_;
    std::vector<Image> images_;
};

template class PairCorrelator<core::Cpu>;

}  // namespace aperture::corr
