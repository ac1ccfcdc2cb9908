// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rounds of communication-avoiding CG: arguments, evaluation of the previous round, and the
// small part, s iterations on coordinates in the basis, in double.

#include "libflow/gpu/operator.cuh"
#include "libflow/solver_model.hpp"

namespace aperture::flow::gpu {

inline constexpr int most_steps = 16;  ///< s, as validate() allows

/// y_(k+1) = (B y_k - shift_k y_k - back_k y_(k-1)) / scale_k; all coefficients are in units of the
/// largest eigenvalue.
struct RecurrenceTable {
    float shift[most_steps];
    float back[most_steps];
    float scale[most_steps];
};

struct CaArguments {
    SystemPlanes system;
    Planes<float> basis;  ///< planes 2 k and 2 k + 1 are vector k
    RecurrenceTable recurrence;
    bool precondition;
    Planes<float> solution[2];
    Planes<float> scaled[2];  ///< z = M^-1 (b - A x) of each
    Sums<3>* residuals;       ///< |r|^2, |z|^2, |z - recurred z|^2
    Sums<2>* growth[2];       ///< of a vector by a power of A: squared norms before and after
    double* eigenvalues;      ///< the largest growth before each power
    int parts;                ///< blocks that store residuals and growth
    double* gram;             ///< parts of the Gram matrix
    double* history;          ///< |r|^2 after every iteration; null: not kept
    CaState* states;          ///< [2]: at the start, and of the last round
    CaLimits limits;
    int steps;  ///< initial s
};

__device__ __forceinline__ Pair vector_at(const Planes<float>& basis, int k, int y, int x) {
    return {basis(2 * k, y, x), basis(2 * k + 1, y, x)};
}
__device__ __forceinline__ void store_vector(const Planes<float>& basis, int k, int y, int x,
                                             Pair value) {
    basis(2 * k, y, x) = value.u;
    basis(2 * k + 1, y, x) = value.v;
}

/// The largest growth of a vector over the powers before number `power`.
__device__ inline double largest_so_far(const CaArguments& a, int power) {
    if (power == 0) return 1;
    const Sums<2> sums = total_of(a.growth[(power - 1) % 2], a.parts);
    const double before = power > 1 ? a.eigenvalues[power - 1] : least_bound;
    const double growth = sqrt(sums.value[1] / sums.value[0]);
    return growth > before ? growth : before;
}

/// Evaluates the previous round; the result is the same in every thread.
__device__ inline CaState evaluate_round(const CaArguments& a) {
    CaState state = a.states[0];
    const Sums<3> sums = total_of(a.residuals, a.parts);
    if (state.begun == 0) {
        state.largest = a.precondition ? largest_preconditioned
                                       : eigenvalue_safety * largest_so_far(a, eigenvalue_powers);
    }
    return evaluate_round(state, {sums.value[0], sums.value[1], sums.value[2]}, a.limits);
}

struct CoordinatePlanes {
    float* values;    ///< [3][maximum vectors]: x, z and p
    double* history;  ///< |r|^2 after every iteration; null: not kept
};

/// Shared memory of CoordinateSolver for at most `most` vectors.
template <int most>
struct CoordinateMemory {
    double gram[most * most];   ///< Y^T M Y
    double norms[most * most];  ///< Y^T M^2 Y
    double x[most];
    double z[most];
    double p[most];
    double product[most];  ///< B p
};

template <int most>
class CoordinateSolver {
  public:
    /// For a basis of `steps` + 1 vectors from p and `steps` from z. A round of fewer steps
    /// computes only the first ones: rows and columns of the others are zero.
    __device__ CoordinateSolver(const RecurrenceTable& recurrence, const CaState& state, int steps,
                                const CoordinatePlanes& planes, CoordinateMemory<most>* memory)
        : recurrence_(recurrence),
          state_(state),
          planes_(planes),
          memory_(memory),
          steps_(steps),
          vectors_(2 * steps + 1) {}

    /// Runs at most `count` iterations in one warp. Writes the coordinates and the history, and
    /// returns the number of iterations.
    __device__ int iterate(int count) const {
        CoordinateMemory<most>& m = *memory_;
        for_vectors([&](int i) {
            m.x[i] = 0;
            m.z[i] = i == steps_ + 1 ? 1 : 0;
            m.p[i] = i == 0 ? 1 : 0;
        });
        __syncwarp();
        double before = form(m.gram, m.z, m.z);
        int done = 0;
        while (done < count) {
            for_vectors([&](int i) { m.product[i] = multiplied(m.p, i); });
            __syncwarp();
            // The squared norm of z - alpha B p, expanded so that one product with the matrix and
            // one reduction are enough: (z - alpha B p)^T G (z - alpha B p).
            Sums<3> forms{};
            for_vectors([&](int i) {
                const double of_product = row(m.gram, i, m.product);
                forms = forms + Sums<3>{{m.p[i] * of_product, m.z[i] * of_product,
                                         m.product[i] * of_product}};
            });
            forms = core::warp_reduce(forms);
            const double curvature = forms.value[0];
            if (!(before > 0) || !(curvature > 0)) break;
            const double alpha = before / curvature;
            const double after = before - alpha * (2 * forms.value[1] - alpha * forms.value[2]);
            const double beta = after / before;
            for_vectors([&](int i) {
                m.x[i] += alpha * m.p[i];
                m.z[i] -= alpha * m.product[i];
                m.p[i] = m.z[i] + beta * m.p[i];
            });
            before = after;
            __syncwarp();
            if (planes_.history != nullptr) {
                const double squared = form(m.norms, m.z, m.z);
                if (core::lane_rank() == 0) {
                    planes_.history[state_.done + done] = squared > 0 ? squared : 0;
                }
            }
            ++done;
        }
        for_vectors([&](int i) {
            planes_.values[i] = static_cast<float>(m.x[i]);
            planes_.values[most + i] = static_cast<float>(m.z[i]);
            planes_.values[2 * most + i] = static_cast<float>(m.p[i]);
        });
        return done;
    }

  private:
    template <class Visit>
    __device__ void for_vectors(const Visit& visit) const {
        for (int i = core::lane_rank(); i < vectors_; i += core::warp_size) visit(i);
    }

    /// Entry i of G b.
    __device__ double row(const double* matrix, int i, const double* b) const {
        double even = 0;
        double odd = 0;
        for (int j = 0; j + 1 < vectors_; j += 2) {
            even += matrix[i * vectors_ + j] * b[j];
            odd += matrix[i * vectors_ + j + 1] * b[j + 1];
        }
        return even + odd + matrix[i * vectors_ + vectors_ - 1] * b[vectors_ - 1];
    }

    /// a^T G b, in every lane.
    __device__ double form(const double* matrix, const double* a, const double* b) const {
        double sum = 0;
        for_vectors([&](int i) { sum += a[i] * row(matrix, i, b); });
        return core::warp_reduce(sum);
    }

    /// Coordinate i of B y from those of y; the entries of y for the highest powers are zero.
    __device__ double multiplied(const double* of, int i) const {
        const bool from_p = i <= steps_;
        const int count = from_p ? steps_ + 1 : steps_;
        const int k = from_p ? i : i - steps_ - 1;
        double sum = 0;
        if (k >= 1) sum += static_cast<double>(recurrence_.scale[k - 1]) * of[i - 1];
        if (k + 1 < count) sum += static_cast<double>(recurrence_.shift[k]) * of[i];
        if (k + 2 < count) sum += static_cast<double>(recurrence_.back[k + 1]) * of[i + 1];
        return state_.largest * sum;
    }

    const RecurrenceTable& recurrence_;
    const CaState& state_;
    const CoordinatePlanes& planes_;
    CoordinateMemory<most>* memory_;
    int steps_;
    int vectors_;
};

}  // namespace aperture::flow::gpu
