// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/adaptation.hpp"
#include "libstap/cpu/snapshots.hpp"
#include "libstap/loading.hpp"

namespace aperture::stap::cpu {

namespace {

/// Cells after which the running sum is recomputed.
constexpr index_t segment = 64;
/// Problems per batch.
constexpr index_t batch = 32 * segment;

bool trains(const TrainingWindow& window, index_t cell) {
    const auto inside = [cell](const RangeSpan& span) {
        return span.begin <= cell && cell < span.end;
    };
    return inside(window.window) && !inside(window.excluded);
}

index_t batch_size(const Problem& problem) {
    return std::min(batch, problem.doppler_bins * problem.shape.range_cells);
}

/// The sum of x x^H over a training window: the lower triangle, real and imaginary parts separate.
struct RunningSum {
    const Problem& problem;
    const CubeView<core::Host>& cube;
    index_t doppler_bin;
    double* re;
    double* im;
    double* x_re;
    double* x_im;

    RunningSum(core::ScratchParts& parts, const Problem& p,
               const CubeView<core::Host>& doppler_cube, index_t k)
        : problem(p), cube(doppler_cube), doppler_bin(k) {
        const index_t n = problem.order;
        re = parts.allocate<double>(n * n);
        im = parts.allocate<double>(n * n);
        x_re = parts.allocate<double>(n);
        x_im = parts.allocate<double>(n);
    }

    void add(index_t cell, double sign) {
        const index_t n = problem.order;
        for (index_t i = 0; i < n; ++i) {
            const cfloat x = snapshot_row(problem, cube, doppler_bin, i)[cell];
            x_re[i] = x.real();
            x_im[i] = x.imag();
        }
        for (index_t i = 0; i < n; ++i) {
            const double row_re = sign * x_re[i];
            const double row_im = sign * x_im[i];
#pragma omp simd
            for (index_t j = 0; j <= i; ++j) {
                re[i * n + j] += row_re * x_re[j] + row_im * x_im[j];
                im[i * n + j] += row_im * x_re[j] - row_re * x_im[j];
            }
        }
    }

    void start(const TrainingWindow& window) {
        const index_t n = problem.order;
        std::fill_n(re, n * n, 0.0);
        std::fill_n(im, n * n, 0.0);
        for (index_t cell = window.window.begin; cell < window.window.end; ++cell)
            if (trains(window, cell)) add(cell, 1);
    }

    /// Both ends of window and excluded cells move by at most one cell.
    void move(const TrainingWindow& from, const TrainingWindow& to) {
        const std::array<index_t, 4> edges = {from.window.begin, from.window.end,
                                              from.excluded.begin, from.excluded.end};
        for (auto edge = edges.begin(); edge != edges.end(); ++edge) {
            if (std::find(edges.begin(), edge, *edge) != edge) continue;
            const bool before = trains(from, *edge);
            const bool after = trains(to, *edge);
            if (before != after) add(*edge, after ? 1 : -1);
        }
    }

    double trace() const {
        double sum = 0;
        for (index_t i = 0; i < problem.order; ++i) sum += re[i * problem.order + i];
        return sum;
    }

    /// R = sum / cells + loading, both triangles; `more` is loading relative to trace(R)/n.
    template <class Real>
    void store(index_t cells, double more, std::complex<Real>* r) const {
        const index_t n = problem.order;
        const auto scale = 1 / static_cast<double>(cells);
        const double loading = amount_of(loading_of(problem, more), problem, trace() * scale);
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < i; ++j) {
                const std::complex<Real> element(static_cast<Real>(re[i * n + j] * scale),
                                                 static_cast<Real>(im[i * n + j] * scale));
                r[i * n + j] = element;
                r[j * n + i] = std::conj(element);
            }
            r[i * n + i] = static_cast<Real>(re[i * n + i] * scale + loading);
        }
    }
};

template <class Real>
class SlidingTraining : public Adaptation {
  public:
    SlidingTraining(core::Cpu& cpu, const Problem& problem, const Steering& steering)
        : cpu_(cpu),
          problem_(problem),
          steering_(steering),
          right_hand_sides_(problem.steering_vectors +
                            (is_adaptive(problem.parameters.detector) ? 1 : 0)),
          problems_({batch_size(problem)}),
          covariance_({batch_size(problem), problem.order, problem.order}),
          solutions_({batch_size(problem), right_hand_sides_, problem.order}),
          snapshots_({batch_size(problem), problem.order}),
          info_({batch_size(problem)}),
          pivot_ratio_({batch_size(problem)}) {}

    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results, int attempt,
             core::Timeline* timeline) override {
        const auto scope = adaptive_stage(cpu_, problem_, timeline);
        using Batch = dense::MatrixBatch<Complex, core::Host>;
        const index_t problems = problem_.doppler_bins * problem_.shape.range_cells;
        const index_t n = problem_.order;
        const std::size_t bytes = core::scratch_bytes_of<RunningSum>(problem_, cube, index_t{0});
        for (index_t first = 0; first < problems; first += batch) {
            const index_t count =
                select(first, std::min(first + batch, problems), results, attempt);
            if (count == 0) continue;
            // Slots are in the order of their problems.
            const auto slot_of = [&](index_t segment_index) {
                const index_t* begin = problems_.data();
                return std::lower_bound(begin, begin + count, first + segment_index * segment) -
                       begin;
            };
            const index_t segments = batch / segment;
            core::for_each_task(cpu_, segments, bytes, [&](index_t s, std::byte* scratch) {
                fill_segment(cube, slot_of(s), slot_of(s + 1), attempt, scratch);
            });
            const Batch covariance(covariance_.data(), {count, n, n});
            const Batch solutions(solutions_.data(), {count, right_hand_sides_, n});
            dense::solve<Complex>(cpu_, problem_.parameters.solver, covariance, solutions,
                                  core::View<int, 1, core::Host>(info_.data(), {count}),
                                  core::View<Real, 1, core::Host>(pivot_ratio_.data(), {count}));
            core::for_each_task(cpu_, segments, 0, [&](index_t s, std::byte*) {
                for (index_t slot = slot_of(s); slot < slot_of(s + 1); ++slot)
                    finish(slot, results);
            });
        }
    }

  private:
    using Complex = std::complex<Real>;

    /// Lists in `problems_` the problems in [first, end) that are due in an attempt.
    index_t select(index_t first, index_t end, const Results<core::Host>& results, int attempt) {
        const index_t cells = problem_.shape.range_cells;
        index_t count = 0;
        for (index_t p = first; p < end; ++p) {
            if (attempt == first_attempt || results.attempt(p / cells, p % cells) == attempt)
                problems_(count++) = p;
        }
        return count;
    }

    /// Fills slots [begin, end) of the batch, with the problems of one segment.
    void fill_segment(const CubeView<core::Host>& cube, index_t begin, index_t end, int attempt,
                      std::byte* scratch) {
        if (begin == end) return;
        const index_t cells = problem_.shape.range_cells;
        const index_t n = problem_.order;
        const index_t last = problems_(end - 1);
        index_t slot = begin;
        // The sum follows the window from the segment's beginning, independent of which problems
        // are due.
        const index_t start = problems_(begin) / segment * segment;
        for (index_t p = start; p <= last; ++p) {
            const index_t k = p / cells;
            const index_t r = p % cells;
            core::ScratchParts parts(scratch);
            RunningSum sum(parts, problem_, cube, k);
            const TrainingWindow window = training_window(problem_, r);
            // A subtraction does not remove a sample that is not finite.
            if (p == start || r == 0 || !std::isfinite(sum.trace())) {
                sum.start(window);
            } else {
                sum.move(training_window(problem_, r - 1), window);
            }
            if (problems_(slot) != p) continue;
            sum.store(window.cells(), automatic_loading(attempt), &covariance_(slot, 0, 0));
            for (index_t i = 0; i < n; ++i)
                snapshots_(slot, i) = Complex(snapshot_row(problem_, cube, k, i)[r]);
            for (index_t d = 0; d < right_hand_sides_; ++d)
                for (index_t i = 0; i < n; ++i)
                    solutions_(slot, d, i) = d < problem_.steering_vectors
                                                 ? Complex(steering_(d, i))
                                                 : snapshots_(slot, i);
            ++slot;
        }
    }

    void finish(index_t slot, const Results<core::Host>& results) const {
        const index_t n = problem_.order;
        const index_t k = problems_(slot) / problem_.shape.range_cells;
        const index_t r = problems_(slot) % problem_.shape.range_cells;
        const auto solutions = solutions_.view();
        const auto dot = [&](index_t solution, const auto& right) {
            std::complex<double> sum = 0;
            for (index_t i = 0; i < n; ++i)
                sum += std::conj(std::complex<double>(solutions(slot, solution, i))) *
                       std::complex<double>(right(i));
            return sum;
        };
        const auto snapshot = [&](index_t i) { return snapshots_(slot, i); };
        const bool solved = info_(slot) == 0;
        const auto cells = static_cast<double>(training_window(problem_, r).cells());
        const bool detect = right_hand_sides_ > problem_.steering_vectors;
        const double c = detect && solved ? dot(problem_.steering_vectors, snapshot).real() : 0;
        for (index_t d = 0; d < problem_.steering_vectors; ++d) {
            const double a = solved ? dot(d, [&](index_t i) { return steering_(d, i); }).real() : 0;
            const std::complex<double> b = solved ? dot(d, snapshot) : 0;
            results.output(d, k, r) = a > 0 ? cfloat(b / a) : cfloat(0);
            if (!detect) continue;
            // M = cells R
            const QuadraticForms<double> q{a / cells, std::norm(b) / (cells * cells), c / cells};
            results.statistic(d, k, r) =
                static_cast<float>(detector_statistic(problem_.parameters.detector, q, cells));
        }
        results.info(k, r) = info_(slot);
        results.pivot_ratio(k, r) = static_cast<float>(pivot_ratio_(slot));
        const auto copy_rows = [&](const auto& from, const auto& to) {
            if (to.empty()) return;
            for (index_t i = 0; i < to.extent[2]; ++i)
                for (index_t j = 0; j < n; ++j) to(k, r, i, j) = cfloat(from(slot, i, j));
        };
        copy_rows(covariance_, results.covariance);
        copy_rows(solutions_, results.weights);
    }

    core::Cpu& cpu_;
    const Problem& problem_;
    Steering steering_;
    index_t right_hand_sides_;  ///< D, and the snapshot itself
    /// (Doppler bin, range cell), range fastest: problem p is bin p / N, cell p % N.
    core::Array<index_t, 1> problems_;    ///< [slot of the batch]
    core::Array<Complex, 3> covariance_;  ///< [slot of the batch][n][n]
    core::Array<Complex, 3> solutions_;   ///< [slot of the batch][d, then R^-1 x][n]
    core::Array<Complex, 2> snapshots_;   ///< [slot of the batch][n]
    core::Array<int, 1> info_;
    core::Array<Real, 1> pivot_ratio_;
};

}  // namespace

std::unique_ptr<Adaptation> sliding_training(core::Cpu& cpu, const Problem& problem,
                                             const Steering& steering, bool fp64) {
    if (fp64) return std::make_unique<SlidingTraining<double>>(cpu, problem, steering);
    return std::make_unique<SlidingTraining<float>>(cpu, problem, steering);
}

}  // namespace aperture::stap::cpu
