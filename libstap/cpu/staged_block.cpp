// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libstap/cpu/adaptation.hpp"
#include "libstap/cpu/stages.hpp"

namespace aperture::stap::cpu {
namespace {

/// Rounds to fp32 into a result [k][b][row][column], unless `to` is empty.
template <class Real>
void copy_where_wanted(const core::View<const std::complex<Real>, 4, core::Host>& from,
                       const core::View<cfloat, 4, core::Host>& to) {
    if (to.empty()) return;
    for (index_t k = 0; k < from.extent[0]; ++k)
        for (index_t b = 0; b < from.extent[1]; ++b)
            for (index_t i = 0; i < from.extent[2]; ++i)
                for (index_t j = 0; j < from.extent[3]; ++j)
                    to(k, b, i, j) = cfloat(from(k, b, i, j));
}

template <class Real>
class StagedBlock : public Adaptation {
  public:
    StagedBlock(core::Cpu& cpu, const Problem& problem, const Steering& steering)
        : cpu_(cpu),
          problem_(problem),
          steering_(steering),
          snapshots_(
              chunk_of_bins<Real>(problem, problem.order, problem.parameters.training_block)),
          covariance_({problem.doppler_bins, problem.training_sets, problem.order, problem.order}),
          weights_({problem.doppler_bins, problem.training_sets, problem.steering_vectors,
                    problem.order}),
          report_(problem) {
        if (is_adaptive(problem.parameters.detector))
            solutions_ =
                chunk_of_bins<Real>(problem, problem.parameters.training_block, problem.order);
    }

    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results, int,
             core::Timeline* timeline) override {
        const auto stage = [&](const char* name, const Work& work) {
            return core::Timeline::stage(timeline, cpu_, name, work.gflop, work.mb);
        };
        {
            const auto scope = stage("covariance", covariance_work(problem_));
            estimate_covariance<Real>(cpu_, problem_, cube, snapshots_, covariance_);
        }
        {
            const auto scope = stage("weights", weights_work(problem_));
            solve_weights<Real>(cpu_, problem_, covariance_, steering_, report_, weights_,
                                results.info, results.pivot_ratio);
        }
        {
            const auto scope = stage("weighting", weighting_work(problem_));
            apply_weights<Real>(cpu_, problem_, cube, steering_, weights_, results.output);
        }
        copy_where_wanted<Real>(covariance_.view(), results.covariance);
        copy_where_wanted<Real>(weights_.view(), results.weights);
        if (!is_adaptive(problem_.parameters.detector)) return;
        const auto scope = stage("detect", detect_work(problem_));
        detect(cube, results);
    }

  private:
    using Complex = std::complex<Real>;

    /// The statistics of an adaptive detector, from the weights and outputs.
    void detect(const CubeView<core::Host>& cube, const Results<core::Host>& results) {
        const index_t sets = problem_.training_sets;
        const index_t block = problem_.parameters.training_block;
        const index_t chunk = solutions_.extent()[0];
        for (index_t first = 0; first < problem_.doppler_bins; first += chunk) {
            const index_t last = std::min(first + chunk, index_t(problem_.doppler_bins));
            const core::View<Complex, 4, core::Host> solutions =
                solutions_.view().slice(0, 0, last - first);
            core::for_each_task(cpu_, (last - first) * sets, 0, [&](index_t task, std::byte*) {
                const index_t begin = training_cells(problem_, task % sets).begin;
                for (index_t i = 0; i < problem_.order; ++i) {
                    const cfloat* row =
                        snapshot_row(problem_, cube, first + task / sets, i) + begin;
                    for (index_t r = 0; r < block; ++r)
                        solutions(task / sets, task % sets, r, i) = Complex(row[r]);
                }
            });
            const core::View<int, 1, core::Host> info(report_.info.data(), {(last - first) * sets});
            const core::View<const Complex, 4, core::Host> covariance =
                covariance_.view().slice(0, first, last);
            dense::solve<Complex>(cpu_, problem_.parameters.solver, as_batch(covariance),
                                  as_batch(solutions), info, {});
            core::for_each_task(cpu_, (last - first) * sets, 0, [&](index_t task, std::byte*) {
                const core::View<const Complex, 2, core::Host> of_block(
                    &solutions(task / sets, task % sets, 0, 0), {block, problem_.order});
                detect_in_block(cube, first + task / sets, task % sets, of_block, results);
            });
        }
    }

    /// With M = N_R R: a = v^H w / N_R, b from the output y = b / |a|, c = x^H (R^-1 x) / N_R. The
    /// forms have fp32 accuracy for every Real, as the output is in fp32.
    void detect_in_block(const CubeView<core::Host>& cube, index_t k, index_t b,
                         const core::View<const Complex, 2, core::Host>& solutions,
                         const Results<core::Host>& results) const {
        const index_t n = problem_.order;
        const index_t block = problem_.parameters.training_block;
        const index_t trained_from = training_cells(problem_, b).begin;
        double a[max_vectors_of_run];
        for (index_t d = 0; d < problem_.steering_vectors; ++d) {
            std::complex<double> gain = 0;
            for (index_t i = 0; i < n; ++i)
                gain += std::conj(std::complex<double>(steering_(d, i))) *
                        std::complex<double>(weights_(k, b, d, i));
            a[d] = gain.real() / static_cast<double>(block);
        }
        const RangeSpan cells = cells_of_block(problem_, b);
        const bool factored = results.info(k, b) == 0;
        for (index_t r = cells.begin; r < cells.end; ++r) {
            double c = 0;
            for (index_t i = 0; i < n; ++i) {
                const std::complex<double> x(snapshot_row(problem_, cube, k, i)[r]);
                c += (std::conj(x) * std::complex<double>(solutions(r - trained_from, i))).real();
            }
            c /= static_cast<double>(block);
            const bool usable =
                factored && stays_definite(static_cast<float>(c), static_cast<float>(block));
            for (index_t d = 0; d < problem_.steering_vectors; ++d) {
                const double power = std::norm(std::complex<double>(results.output(d, k, r)));
                const QuadraticForms<double> with_cell{a[d], power * a[d] * a[d], c};
                results.statistic(d, k, r) =
                    usable ? static_cast<float>(cell_statistic(problem_.parameters.detector,
                                                               with_cell, double(block), true))
                           : 0.0f;
            }
            if (!usable && results.info(k, b) == 0) results.info(k, b) = static_cast<int>(-1 - r);
        }
    }

    core::Cpu& cpu_;
    const Problem& problem_;
    Steering steering_;
    core::Array<Complex, 4> snapshots_;   ///< of a chunk of bins, [k][b][n][N_R]
    core::Array<Complex, 4> covariance_;  ///< [k][b][n][n]
    core::Array<Complex, 4> weights_;     ///< [k][b][d][n]
    SolverReport<Real> report_;
    core::Array<Complex, 4> solutions_;  ///< R^-1 S of a chunk of bins, [k][b][cell][n]
};

}  // namespace

std::unique_ptr<Adaptation> staged_block(core::Cpu& cpu, const Problem& problem,
                                         const Steering& steering, bool fp64) {
    if (fp64) return std::make_unique<StagedBlock<double>>(cpu, problem, steering);
    return std::make_unique<StagedBlock<float>>(cpu, problem, steering);
}

}  // namespace aperture::stap::cpu
