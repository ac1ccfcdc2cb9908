// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "libcorr/cpu/plane_rows.hpp"
#include "libcorr/surface_estimator.hpp"

namespace aperture::corr {

using core::Host;

void Surfaces::reshape(const Problem& problem) {
    const auto [rows, columns] = problem.lags.extent();
    surface.reshape({rows, columns});
    planes.reshape({problem.each_plane ? problem.planes : 0, rows, columns});
    counts.reshape({rows, columns});
}

template <>
class EstimatorOperations<core::Cpu> {
  public:
    explicit EstimatorOperations(core::Cpu& cpu) : cpu_(cpu) {}

    template <class... Formulas>
    void for_entries(index_t rows, index_t columns, const Step<Formulas>&... steps) {
        core::for_each_task(cpu_, rows, 0,
                            [&](index_t row, std::byte*) { (do_row(row, columns, steps), ...); });
    }

    void find_means(PlanesView<Host> image, core::View<const float, 2, Host> mask, float* means) {
        const index_t rows = image.extent[1];
        const index_t columns = image.extent[2];
        const Entries<const float> chosen(mask.data, mask.extent, mask.stride);
        const auto sum_of_chosen = [&](const auto& value) {
            return sum_of_rows(cpu_, rows, row_sums_, [&](index_t y) {
                double sum = 0;
                for (index_t x = 0; x < columns; ++x) {
                    if (is_chosen(chosen, y, x)) sum += value(y, x);
                }
                return sum;
            });
        };
        const double count = mask.data == nullptr
                                 ? static_cast<double>(rows * columns)
                                 : sum_of_chosen([](index_t, index_t) { return 1.0; });
        for (index_t p = 0; p < image.extent[0]; ++p) {
            const double sum = sum_of_chosen(
                [&](index_t y, index_t x) { return static_cast<double>(image(p, y, x)); });
            means[p] = static_cast<float>(count > 0 ? sum / count : 0);
        }
    }

    void find_moments(PlanesView<Host> image, Side side, const Problem& problem,
                      core::View<double, 3, Host> sums, core::View<double, 3, Host> squares) {
        for (index_t p = 0; p < image.extent[0]; ++p) {
            const auto store_sums = [&](core::View<double, 2, Host> to) {
                for_overlap_sums(cpu_, areas_, problem.image, problem.lags, side,
                                 [&](index_t i, index_t j, double sum) { to(i, j) = sum; });
            };
            areas_.compute(cpu_, image[p]);
            store_sums(sums[p]);
            areas_.compute_squares(cpu_, image[p]);
            store_sums(squares[p]);
        }
    }

  private:
    template <class Formula>
    static void do_row(index_t row, index_t columns, const Step<Formula>& step) {
        const Formula formula = step.formula;
        for (index_t p = 0; p < step.planes; ++p) {
#pragma omp simd
            for (index_t column = 0; column < columns; ++column) formula(p, row, column);
        }
    }

    core::Cpu& cpu_;
    std::vector<double> row_sums_;
    signal::SummedAreas areas_;
};

template class SurfaceEstimator<core::Cpu>;

}  // namespace aperture::corr
