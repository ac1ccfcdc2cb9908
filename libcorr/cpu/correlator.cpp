// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "libcorr/correlators.hpp"
#include "libcorr/cpu/direct.hpp"
#include "libcorr/cpu/fft_correlation.hpp"

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
    core::expects(problem.images >= 1, problem.images, " images, expected at least 1");
    core::expects(problem.precision == Precision::fp32 || problem.method == Method::direct,
                  "a precision other than fp32 requires the direct method");
}

/// Works image by image.
template <>
class CorrelatorOperations<core::Cpu> {
  public:
    CorrelatorOperations(core::Cpu& cpu, const Problem& problem)
        : cpu_(cpu),
          problem_(problem),
          ground_a_(problem.planes, problem.image.rows),
          ground_b_(problem.planes, problem.image.rows) {
        core::expects(problem.precision != Precision::tf32x3,
                      "precision tf32x3 requires a GPU; the CPU supports fp32 and fp64");
        if (problem.method == Method::fft) {
            method_ = FftCorrelation(problem);
        } else if (problem.precision == Precision::fp64) {
            method_ = DirectCorrelation<double>(problem);
        } else {
            method_ = DirectCorrelation<float>(problem);
        }
    }

    void run(PlanesView<core::Host> a, PlanesView<core::Host> b, bool same,
             core::View<double, 3, core::Host> sums) {
        for (index_t image = 0; image < problem_.images; ++image) {
            const auto of_image = [&](const auto& view, index_t count) {
                return view.slice(0, image * count, (image + 1) * count);
            };
            const GroundedPlanes of_a{of_image(a, problem_.planes), ground_a_};
            const GroundedPlanes of_b{of_image(b, problem_.planes), same ? ground_a_ : ground_b_};
            const auto of_sums = of_image(sums, problem_.surfaces());
            ground_a_.find(cpu_, of_a.planes);
            if (!same) ground_b_.find(cpu_, of_b.planes);
            std::visit([&](auto& method) { method.run(cpu_, of_a, of_b, of_sums); }, method_);
            ground_sums_.add(cpu_, problem_, of_a, of_b, of_sums);
        }
    }

  private:
    core::Cpu& cpu_;
    Problem problem_;
    Ground ground_a_;
    Ground ground_b_;
    GroundSums ground_sums_;
    std::variant<FftCorrelation, DirectCorrelation<float>, DirectCorrelation<double>> method_;
};

template class Correlator<core::Cpu>;

}  // namespace aperture::corr
