// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/adaptation.hpp"
#include "libstap/cpu/snapshots.hpp"
#include "libstap/loading.hpp"

// M = L L^H is the loaded sum over all cells, z = L^-1 x and u = L^-1 v. Without the excluded
// snapshots E the matrix is M - E E^H = L (I - Z Z^H) L^H. By Woodbury's identity its quadratic
// forms need only H = I - Z^H Z, of order 2G+1, and p = u^H Z:
//   h = H^-1 e_r,   b = p h,   c = h_r - 1,   a = u^H u + p H^-1 p^H.

namespace aperture::stap::cpu {

namespace {

using Complex = std::complex<double>;

/// Cells whitened together: they stay in the first-level cache.
constexpr index_t cell_tile = 32;

/// Computes L of M = L L^H in place, in the lower triangle of `m`. Returns the order of the first
/// leading minor with a pivot not above `limit`, or 0.
int cholesky(Complex* m, index_t n, double limit) {
    for (index_t j = 0; j < n; ++j) {
        double pivot = m[j * n + j].real();
        for (index_t k = 0; k < j; ++k) pivot -= std::norm(m[j * n + k]);
        if (!(pivot > limit) || !std::isfinite(pivot)) return static_cast<int>(j + 1);
        const double diagonal = std::sqrt(pivot);
        m[j * n + j] = diagonal;
        for (index_t i = j + 1; i < n; ++i) {
            Complex sum = m[i * n + j];
            for (index_t k = 0; k < j; ++k) sum -= m[i * n + k] * std::conj(m[j * n + k]);
            m[i * n + j] = sum / diagonal;
        }
    }
    return 0;
}

/// X = L^-1 X for `columns` vectors, real and imaginary parts separate: row i begins at i * stride.
void forward_substitute(const Complex* l, index_t n, double* re, double* im, index_t stride,
                        index_t columns) {
    for (index_t i = 0; i < n; ++i) {
        double* __restrict x_re = re + i * stride;
        double* __restrict x_im = im + i * stride;
        for (index_t j = 0; j < i; ++j) {
            const double l_re = l[i * n + j].real();
            const double l_im = l[i * n + j].imag();
            const double* y_re = re + j * stride;
            const double* y_im = im + j * stride;
#pragma omp simd
            for (index_t r = 0; r < columns; ++r) {
                x_re[r] -= l_re * y_re[r] - l_im * y_im[r];
                x_im[r] -= l_re * y_im[r] + l_im * y_re[r];
            }
        }
        const double inverse = 1 / l[i * n + i].real();
#pragma omp simd
        for (index_t r = 0; r < columns; ++r) {
            x_re[r] *= inverse;
            x_im[r] *= inverse;
        }
    }
}

/// x = L^-H x
void backward_substitute(const Complex* l, index_t n, Complex* x) {
    for (index_t i = n - 1; i >= 0; --i) {
        for (index_t j = i + 1; j < n; ++j) x[i] -= std::conj(l[j * n + i]) * x[j];
        x[i] /= l[i * n + i].real();
    }
}

/// One Doppler bin, in a thread's scratch memory.
class DopplerBin {
  public:
    DopplerBin(core::ScratchParts& parts, const Problem& problem, index_t doppler_bin)
        : problem_(problem),
          k_(doppler_bin),
          n_(problem.order),
          cells_(problem.shape.range_cells),
          directions_(problem.steering_vectors) {
        const index_t excluded = most_excluded(problem);
        l_ = parts.allocate<Complex>(n_ * n_);
        z_re_ = parts.allocate<double>(n_ * cells_);
        z_im_ = parts.allocate<double>(n_ * cells_);
        u_re_ = parts.allocate<double>(n_ * directions_);
        u_im_ = parts.allocate<double>(n_ * directions_);
        p_re_ = parts.allocate<double>(cells_ * directions_);
        p_im_ = parts.allocate<double>(cells_ * directions_);
        gram_re_ = parts.allocate<double>(excluded * cells_);
        gram_im_ = parts.allocate<double>(excluded * cells_);
        h_factor_ = parts.allocate<Complex>(excluded * excluded);
        h_ = parts.allocate<Complex>(excluded);
        f_re_ = parts.allocate<double>(excluded * directions_);
        f_im_ = parts.allocate<double>(excluded * directions_);
        a_all_ = parts.allocate<double>(directions_);
        a_ = parts.allocate<double>(directions_);
    }

    void run(const CubeView<core::Host>& cube, const Steering& steering,
             const Results<core::Host>& results, int attempt) {
        split_snapshots<double>(problem_, cube, k_, {0, cells_}, {z_re_, z_im_, cells_});
        sum_outer_products({z_re_, z_im_, cells_}, n_, cells_, l_);
        load(results, automatic_loading(attempt));
        results.info(k_, 0) = cholesky(l_, n_, 0);
        results.pivot_ratio(k_, 0) = pivot_ratio(results.info(k_, 0));
        const bool factored = results.info(k_, 0) == 0;
        if (factored) {
            whiten(steering);
            project();
            correlate_neighbours();
        }
        for (index_t r = 0; r < cells_; ++r) {
            const bool removed = factored && remove_excluded(r);
            if (factored && !removed && results.info(k_, 0) == 0)
                results.info(k_, 0) = static_cast<int>(-1 - r);
            store(r, removed, results);
        }
    }

  private:
    static index_t most_excluded(const Problem& p) {
        return std::min<index_t>(2 * index_t(p.parameters.guard) + 1, p.shape.range_cells);
    }

    /// Adds N times the loading of R = M / N, plus `more` relative to trace(R)/n, and writes R if
    /// requested.
    void load(const Results<core::Host>& results, double more) {
        const Loading loading = loading_of(problem_, more);
        const auto count = static_cast<double>(cells_);
        double trace = 0;
        for (index_t i = 0; i < n_; ++i) trace += l_[i * n_ + i].real();
        const double added =
            loading.relative * trace / static_cast<double>(n_) + loading.absolute * count;
        for (index_t i = 0; i < n_; ++i) l_[i * n_ + i] += added;
        if (results.covariance.empty()) return;
        for (index_t i = 0; i < n_; ++i)
            for (index_t j = 0; j <= i; ++j) {
                const cfloat element(l_[i * n_ + j] / count);
                results.covariance(k_, 0, i, j) = element;
                results.covariance(k_, 0, j, i) = std::conj(element);
            }
    }

    float pivot_ratio(int info) const {
        if (info != 0) return INFINITY;
        double largest = 0;
        double smallest = INFINITY;
        for (index_t i = 0; i < n_; ++i) {
            largest = std::max(largest, std::norm(l_[i * n_ + i]));
            smallest = std::min(smallest, std::norm(l_[i * n_ + i]));
        }
        return static_cast<float>(largest / smallest);
    }

    /// z = L^-1 x for all cells, u = L^-1 v for all directions.
    void whiten(const Steering& steering) {
        for (index_t first = 0; first < cells_; first += cell_tile)
            forward_substitute(l_, n_, z_re_ + first, z_im_ + first, cells_,
                               std::min(cell_tile, cells_ - first));
        for (index_t i = 0; i < n_; ++i)
            for (index_t d = 0; d < directions_; ++d) {
                u_re_[i * directions_ + d] = steering(d, i).real();
                u_im_[i * directions_ + d] = steering(d, i).imag();
            }
        forward_substitute(l_, n_, u_re_, u_im_, directions_, directions_);
    }

    /// p = u^H z for all cells [r][d], and u^H u.
    void project() {
        std::fill_n(p_re_, cells_ * directions_, 0.0);
        std::fill_n(p_im_, cells_ * directions_, 0.0);
        std::fill_n(a_all_, directions_, 0.0);
        for (index_t i = 0; i < n_; ++i) {
            const double* u_re = u_re_ + i * directions_;
            const double* u_im = u_im_ + i * directions_;
            for (index_t d = 0; d < directions_; ++d)
                a_all_[d] += u_re[d] * u_re[d] + u_im[d] * u_im[d];
            for (index_t r = 0; r < cells_; ++r) {
                const double z_re = z_re_[i * cells_ + r];
                const double z_im = z_im_[i * cells_ + r];
                double* p_re = p_re_ + r * directions_;
                double* p_im = p_im_ + r * directions_;
#pragma omp simd
                for (index_t d = 0; d < directions_; ++d) {
                    p_re[d] += u_re[d] * z_re + u_im[d] * z_im;
                    p_im[d] += u_re[d] * z_im - u_im[d] * z_re;
                }
            }
        }
    }

    /// gram[lag][r] = z_r^H z_{r+lag}, for the distances between excluded cells.
    void correlate_neighbours() {
        const index_t lags = most_excluded(problem_);
        std::fill_n(gram_re_, lags * cells_, 0.0);
        std::fill_n(gram_im_, lags * cells_, 0.0);
        for (index_t lag = 0; lag < lags; ++lag)
            for (index_t i = 0; i < n_; ++i) {
                const double *a_re = z_re_ + i * cells_, *a_im = z_im_ + i * cells_;
                double* __restrict re = gram_re_ + lag * cells_;
                double* __restrict im = gram_im_ + lag * cells_;
#pragma omp simd
                for (index_t r = 0; r < cells_ - lag; ++r) {
                    re[r] += a_re[r] * a_re[r + lag] + a_im[r] * a_im[r + lag];
                    im[r] += a_re[r] * a_im[r + lag] - a_im[r] * a_re[r + lag];
                }
            }
    }

    /// Computes h = H^-1 e_r and a; returns false if H is not positive definite beyond rounding.
    bool remove_excluded(index_t r) {
        const RangeSpan excluded = training_window(problem_, r).excluded;
        const index_t m = excluded.cells();
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j <= i; ++j) {
                const index_t at = (i - j) * cells_ + excluded.begin + j;
                // Element (i, j) is -z_i^H z_j, the conjugate of the entry in `gram`.
                h_factor_[i * m + j] = {(i == j ? 1.0 : 0.0) - gram_re_[at], gram_im_[at]};
            }
        // The pivot of an excluded cell is 1 - c after removal of the cells before it.
        if (cholesky(h_factor_, m, smallest_remainder(static_cast<double>(cells_))) != 0)
            return false;

        for (index_t i = 0; i < m; ++i) {
            h_[i] = excluded.begin + i == r ? 1.0 : 0.0;
            for (index_t j = 0; j < i; ++j) h_[i] -= h_factor_[i * m + j] * h_[j];
            h_[i] /= h_factor_[i * m + i].real();
        }
        backward_substitute(h_factor_, m, h_);

        // C^-1 p^H with H = C C^H, for all directions: its squared norm is the increase of a.
        const double* p_re = p_re_ + excluded.begin * directions_;
        const double* p_im = p_im_ + excluded.begin * directions_;
        for (index_t i = 0; i < m * directions_; ++i) {
            f_re_[i] = p_re[i];
            f_im_[i] = -p_im[i];
        }
        forward_substitute(h_factor_, m, f_re_, f_im_, directions_, directions_);
        std::copy_n(a_all_, directions_, a_);
        for (index_t i = 0; i < m; ++i)
            for (index_t d = 0; d < directions_; ++d) {
                const index_t at = i * directions_ + d;
                a_[d] += f_re_[at] * f_re_[at] + f_im_[at] * f_im_[at];
            }
        return true;
    }

    void store(index_t r, bool removed, const Results<core::Host>& results) const {
        const TrainingWindow window = training_window(problem_, r);
        const index_t first = window.excluded.begin;
        const auto cells = static_cast<double>(window.cells());
        for (index_t d = 0; d < directions_; ++d) {
            Complex b = 0;
            for (index_t i = first; removed && i < window.excluded.end; ++i) {
                const index_t at = i * directions_ + d;
                b += Complex(p_re_[at], p_im_[at]) * h_[i - first];
            }
            const double a = removed ? a_[d] : 0;
            results.output(d, k_, r) = a > 0 ? cfloat(b / a) : cfloat(0);
            if (!is_adaptive(problem_.parameters.detector)) continue;
            const double c = removed ? h_[r - first].real() - 1 : 0;
            results.statistic(d, k_, r) = static_cast<float>(detector_statistic(
                problem_.parameters.detector, QuadraticForms<double>{a, std::norm(b), c}, cells));
        }
    }

    const Problem& problem_;
    index_t k_, n_, cells_, directions_;
    Complex* l_;                  ///< M, then L, [n][n]
    double *z_re_, *z_im_;        ///< snapshots, then z, [n][N]
    double *u_re_, *u_im_;        ///< [n][D]
    double *p_re_, *p_im_;        ///< [N][D]
    double *gram_re_, *gram_im_;  ///< [lag][N]
    Complex* h_factor_;           ///< H, then C
    Complex* h_;
    double *f_re_, *f_im_;  ///< [excluded][D]
    double *a_all_, *a_;    ///< [D], before and after the removal
};

class AllTraining : public Adaptation {
  public:
    AllTraining(core::Cpu& cpu, const Problem& problem, const Steering& steering)
        : cpu_(cpu), problem_(problem), steering_(steering) {}

    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results, int,
             core::Timeline* timeline) override {
        const auto scope = adaptive_stage(cpu_, problem_, timeline);
        const std::size_t bytes = core::scratch_bytes_of<DopplerBin>(problem_, index_t{0});
        core::for_each_task(cpu_, problem_.doppler_bins, bytes, [&](index_t k, std::byte* scratch) {
            core::ScratchParts parts(scratch);
            DopplerBin bin(parts, problem_, k);
            bin.run(cube, steering_, results, first_attempt);
            if (problem_.parameters.precision != Precision::automatic) return;
            // The first attempt is already in fp64.
            int& attempt = results.attempt(k, 0);
            attempt = fp64_attempt;
            while (needs_another(attempt, results.info(k, 0), results.pivot_ratio(k, 0),
                                 problem_.order))
                bin.run(cube, steering_, results, ++attempt);
            if (attempt == fp64_attempt) attempt = first_attempt;
        });
    }

  private:
    core::Cpu& cpu_;
    const Problem& problem_;
    Steering steering_;
};

}  // namespace

std::unique_ptr<Adaptation> all_training(core::Cpu& cpu, const Problem& problem,
                                         const Steering& steering) {
    return std::make_unique<AllTraining>(cpu, problem, steering);
}

}  // namespace aperture::stap::cpu
