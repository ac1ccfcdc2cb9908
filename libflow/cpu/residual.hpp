// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/prepared_system.hpp"
#include "libflow/cpu/reductions.hpp"

namespace aperture::flow {

/// A x, a row at a time.
template <Coupling coupling>
class Operator {
  public:
    Operator(const PreparedSystem& system, const PaddedPlanes& x, const float* zeros)
        : system_(system), x_(x), zeros_(zeros) {}

    /// Computes row y of A x; calls visit(first column, PackPair).
    template <class Visit>
    void row(index_t y, const Visit& visit) const {
        using core::load;
        const RowPointers u = around(0, y);
        const RowPointers v = around(1, y);
        const Flux<coupling> flux(system_, y);
        const float* j11 = system_.tensor.row(0, y);
        const float* j12 = system_.tensor.row(1, y);
        const float* j22 = system_.tensor.row(2, y);
        for (index_t i = 0; i < system_.shape.columns; i += core::lanes<float>) {
            const core::Pack<float> here_u = load(u.middle + i);
            const core::Pack<float> here_v = load(v.middle + i);
            const core::Pack<float> cross = load(j12 + i);
            visit(i, PackPair{load(j11 + i) * here_u + (cross * here_v + flux(u, i)),
                              cross * here_u + (load(j22 + i) * here_v + flux(v, i))});
        }
    }

  private:
    RowPointers around(index_t unknown, index_t y) const {
        const float* middle = x_.row(unknown, y);
        const float* outside = system_.boundary == Boundary::replicate ? middle : zeros_;
        return {y > 0 ? x_.row(unknown, y - 1) : outside, middle,
                y + 1 < system_.shape.rows ? x_.row(unknown, y + 1) : outside};
    }

    const PreparedSystem& system_;
    const PaddedPlanes& x_;
    const float* zeros_;
};

/// The product of row y of two vectors.
inline double row_product(const PaddedPlanes& a, const PaddedPlanes& b, index_t y) {
    const index_t columns = a.shape().columns;
    return row_product(a.row(0, y), b.row(0, y), columns) +
           row_product(a.row(1, y), b.row(1, y), columns);
}

/// |b|^2
double right_squared(core::Cpu& cpu, const LinearSystem<core::Host>& system, RowSums<1>& sums);

/// The residual's squared norm.
class Residual {
  public:
    Residual() = default;
    explicit Residual(Shape shape)
        : sums_(shape), rows_(2, shape), zeros_(1, Shape{1, shape.columns}) {}

    /// |b - A x|^2; `x` must have its margins set.
    double squared(core::Cpu& cpu, const PreparedSystem& system, const PaddedPlanes& x);

  private:
    RowSums<1> sums_;
    PaddedPlanes rows_;
    PaddedPlanes zeros_;  ///< a row beyond the image
};

}  // namespace aperture::flow
