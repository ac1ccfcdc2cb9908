// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/robust_pca.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "librpca/cpu/projected_matrix.hpp"
#include "librpca/cpu/spectrum.hpp"
#include "librpca/cpu/sweep.hpp"
#include "librpca/selected_solver.hpp"

namespace aperture::rpca {

void validate(const Parameters& parameters) {
    core::expects(parameters.lambda >= 0 && std::isfinite(parameters.lambda),
                  "lambda must not be negative, is ", parameters.lambda);
    core::expects(parameters.tolerance > 0 && parameters.tolerance < 1,
                  "tolerance must be between 0 and 1, is ", parameters.tolerance);
    core::expects(parameters.max_iterations > 0, "iterations must be positive, are ",
                  parameters.max_iterations);
    core::expects(parameters.mask_threshold >= 0, "mask threshold must not be negative, is ",
                  parameters.mask_threshold);
    core::expects(parameters.rank >= 0, "rank must not be negative, is ", parameters.rank);
}

namespace cpu {

/// R factor of W minus its temporal mean: R of the QR of W, each row minus its mean.
template <class T>
class TriangleOfW {
  public:
    TriangleOfW(core::Cpu& cpu, Svd svd, index_t frames, index_t values)
        : qr_(cpu, qr_method(svd), values, frames),
          w_({frames, values}),
          r_({frames, frames}),
          fp64_({frames, frames}) {}

    static index_t bytes(core::Cpu& cpu, Svd svd, index_t frames, index_t values) {
        return dense::TallQr<T, core::Cpu>::find_r_bytes(cpu, qr_method(svd), values, frames) +
               bytes_of<T>(frames * (values + frames)) + bytes_of<double>(frames * frames);
    }

    core::View<const double, 2, core::Host> find(core::Cpu& cpu, const SweptMatrix<T>& matrix) {
        matrix.copy_w(cpu, w_);
        qr_.find_r({w_.data(), {w_.extent()[1], w_.extent()[0]}, {1, w_.extent()[1]}}, r_);
        std::copy(r_.begin(), r_.end(), fp64_.begin());
        const index_t frames = fp64_.extent()[0];
        for (index_t i = 0; i < frames; ++i) {
            double* const row = &fp64_(i, 0);
            const double mean =
                std::accumulate(row, row + frames, 0.0) / static_cast<double>(frames);
            std::transform(row, row + frames, row, [&](double x) { return x - mean; });
        }
        return std::as_const(fp64_).view();
    }

  private:
    dense::TallQr<T, core::Cpu> qr_;
    core::Array<T, 2> w_;
    core::Array<T, 2> r_;
    core::Array<double, 2> fp64_;
};

/// See Multipliers.
template <class T>
class MultiplierOperations {
  public:
    using Executor = core::Cpu;
    /// A pass ends before the next can begin: there is nothing to be ahead of.
    static constexpr int iterations_ahead = 0;
    static constexpr index_t most_frames = std::numeric_limits<index_t>::max();

    MultiplierOperations(core::Cpu& cpu, index_t frames, index_t values,
                         const Parameters& parameters)
        : cpu_(cpu),
          frames_(frames),
          matrix_(frames, values, parameters.svd, parameters.mask_threshold > 0),
          spectrum_(frames) {
        if (parameters.svd != Svd::gram) triangle_.emplace(cpu, parameters.svd, frames, values);
        factor_.first.reserve(frames, frames + 1);
        factor_.second.reserve(frames + 1, frames);
    }

    static WorkspaceBytes bytes(core::Cpu& cpu, index_t frames, index_t values,
                                const Parameters& parameters) {
        const bool by_gram = parameters.svd == Svd::gram;
        const index_t of_matrix =
            SweptMatrix<T>::bytes(frames, values, parameters.mask_threshold > 0, cpu.threads());
        const index_t of_spectrum =
            by_gram ? Spectrum::gram_bytes(frames)
                    : Spectrum::triangle_bytes(frames) +
                          TriangleOfW<T>::bytes(cpu, parameters.svd, frames, values);
        return {of_matrix + of_spectrum + bytes_of<T>(2 * frames * (frames + 1)), 0};
    }

    MatrixNorms load(FramesView<const T, core::Host> m) {
        const MatrixNorms norms = matrix_.load(cpu_, m);
        state_ = {};
        set_factor(0, std::numeric_limits<double>::infinity());
        return norms;
    }
    double norm2() {
        find_spectrum();
        return spectrum_.singular_value(0);
    }
    void threshold_singular_values(double mu) {
        find_spectrum();
        const double threshold = 1 / mu;
        const index_t rank = spectrum_.count_above(threshold);
        state_.rank = static_cast<int>(rank);
        set_factor(rank, threshold);
    }
    void pass(const MultiplierPass<T, core::Host>& pass) {
        const PassSums sums = matrix_.pass(cpu_, factor_, pass, is_last_pass(state_, pass.last));
        if (pass.iteration > 0) advance(state_, sums, pass.rules, pass.last);
    }
    const RunState& state(int /*iteration*/) const { return state_; }

  private:
    void find_spectrum() {
        if (triangle_) {
            const auto triangle = triangle_->find(cpu_, matrix_);
            cpu_.checkpoint();
            spectrum_.decompose_triangle(triangle);
        } else {
            cpu_.checkpoint();
            spectrum_.decompose_gram(matrix_.gram());
        }
        cpu_.checkpoint();
    }
    /// From the `r` largest singular values s, V their vectors:
    /// P = 1 1^T / frames + V diag((s - threshold) / s) V^T.
    void set_factor(index_t r, double threshold) {
        const double share = 1 / static_cast<double>(frames_);
        const auto kept = [&](index_t i) { return 1 - threshold / spectrum_.singular_value(i); };
        factor_.has_second = 2 * r < frames_;
        if (factor_.has_second) {
            factor_.first.set(frames_, r + 1, [&](index_t i, index_t k) {
                return k == r ? share : spectrum_.vector(i, k);
            });
            factor_.second.set(r + 1, frames_, [&](index_t k, index_t j) {
                return k == r ? 1 : kept(k) * spectrum_.vector(j, k);
            });
            return;
        }
        factor_.first.set(frames_, frames_, [&](index_t i, index_t j) {
            double sum = share;
            for (index_t k = 0; k < r; ++k) {
                sum += spectrum_.vector(i, k) * kept(k) * spectrum_.vector(j, k);
            }
            return sum;
        });
    }

    core::Cpu& cpu_;
    index_t frames_;
    SweptMatrix<T> matrix_;
    std::optional<TriangleOfW<T>> triangle_;  ///< if it replaces the Gram matrix
    Spectrum spectrum_;
    RightFactor<T> factor_;
    RunState state_;
};

}  // namespace cpu

template <class T>
struct SolverParts<T, core::Cpu> {
    using Operations = cpu::MultiplierOperations<T>;
    using Matrix = cpu::ProjectedMatrix<T>;
};

template class RobustPca<float, core::Cpu>;
template class RobustPca<double, core::Cpu>;

}  // namespace aperture::rpca
