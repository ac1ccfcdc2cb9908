// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/cpu/cfar.hpp"

#include <complex>

#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::stap::cpu {

void cell_averaging_cfar(core::Cpu& cpu, const Problem& problem,
                         core::View<const cfloat, 3, core::Host> output,
                         core::View<float, 3, core::Host> statistic) {
    const index_t bins = problem.doppler_bins;
    const index_t cells = problem.shape.range_cells;
    const std::size_t bytes = static_cast<std::size_t>(cells + 1) * sizeof(double);
    core::for_each_task(
        cpu, problem.steering_vectors * bins, bytes, [&](index_t task, std::byte* scratch) {
            const index_t d = task / bins;
            const index_t k = task % bins;
            // Prefix sums are monotonic, so that their differences are never negative.
            auto* power_before = reinterpret_cast<double*>(scratch);
            power_before[0] = 0;
            for (index_t r = 0; r < cells; ++r)
                power_before[r + 1] =
                    power_before[r] + std::norm(std::complex<double>(output(d, k, r)));
            const auto power_in = [&](const RangeSpan& span) {
                return power_before[span.end] - power_before[span.begin];
            };
            for (index_t r = 0; r < cells; ++r) {
                const TrainingWindow reference = reference_window(problem, r);
                const double sum = power_in({reference.window.begin, reference.excluded.begin}) +
                                   power_in({reference.excluded.end, reference.window.end});
                const double power = std::norm(std::complex<double>(output(d, k, r)));
                const double mean = sum / static_cast<double>(reference.cells());
                statistic(d, k, r) = mean > 0 ? static_cast<float>(power / mean) : 0.0f;
            }
        });
}

}  // namespace aperture::stap::cpu
