// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/conjugate_gradients.hpp"

#include <array>

#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {
namespace {

using core::load;
using core::Pack;
using core::store;

}  // namespace

ConjugateGradients::ConjugateGradients(core::Cpu& cpu, Shape shape, bool precondition)
    : cpu_(&cpu),
      shape_(shape),
      precondition_(precondition),
      residual_(2, shape),
      direction_(2, shape),
      product_(2, shape),
      scaled_(2, shape),
      sums_(shape),
      zeros_(shape.columns) {}

void ConjugateGradients::start(const PreparedSystem& system, const PaddedPlanes& x, double limit) {
    limit_ = limit;
    progress_ = {};
    with_coupling(system.coupling, [&](auto coupling) {
        const Operator<decltype(coupling)::value> matrix(system, x, zeros_.data());
        for_rows(*cpu_, shape_, [&](index_t y) {
            matrix.row(y, [&](index_t i, Pack<float> u, Pack<float> v) {
                store(residual_.row(0, y) + i, load(system.right.row(0, y) + i) - u);
                store(residual_.row(1, y) + i, load(system.right.row(1, y) + i) - v);
                store(product_.row(0, y) + i, Pack<float>{});
                store(product_.row(1, y) + i, Pack<float>{});
            });
        });
    });
    // The product is still zero: this only scales the residual and computes its norms.
    update(system, residual_, 0.0F);
    next_direction(system, 0.0F);
}

void ConjugateGradients::advance(const PreparedSystem& system, PaddedPlanes& x, int count) {
    for (int i = 0; i < count; ++i) {
        progress_.stopped = residual_squared_ <= limit_ || !step(system, x);
        if (progress_.stopped) return;
        ++progress_.done;
    }
}

bool ConjugateGradients::step(const PreparedSystem& system, PaddedPlanes& x) {
    if (scaled_product_ <= 0) return false;
    const double curvature = multiply(system);
    if (!(curvature > 0)) return false;
    const double before = scaled_product_;
    update(system, x, static_cast<float>(before / curvature));
    next_direction(system, static_cast<float>(scaled_product_ / before));
    return true;
}

// p = M^-1 r + beta p
void ConjugateGradients::next_direction(const PreparedSystem& system, float beta) {
    for_rows(*cpu_, shape_, [&](index_t y) {
        for (index_t unknown : {0, 1}) {
            float* p = direction_.row(unknown, y);
            const float* z = scaled_.row(unknown, y);
            for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
                store(p + i, beta == 0 ? load(z + i) : load(z + i) + beta * load(p + i));
            }
            set_margins(p, shape_.columns, system.boundary);
        }
    });
}

double ConjugateGradients::multiply(const PreparedSystem& system) {
    double curvature = 0;
    with_coupling(system.coupling, [&](auto coupling) {
        const Operator<decltype(coupling)::value> matrix(system, direction_, zeros_.data());
        curvature = sums_.over_rows(*cpu_, [&](index_t y) {
            float* u = product_.row(0, y);
            float* v = product_.row(1, y);
            matrix.row(y, [&](index_t i, Pack<float> a_u, Pack<float> a_v) {
                store(u + i, a_u);
                store(v + i, a_v);
            });
            return std::array<double, 2>{row_product(direction_.row(0, y), u, shape_.columns) +
                                             row_product(direction_.row(1, y), v, shape_.columns),
                                         0.0};
        })[0];
    });
    return curvature;
}

// x += alpha p, r -= alpha A p, M^-1 r, and the norms of r
void ConjugateGradients::update(const PreparedSystem& system, PaddedPlanes& x, float alpha) {
    const auto sums = sums_.over_rows(*cpu_, [&](index_t y) {
        float* const r[2] = {residual_.row(0, y), residual_.row(1, y)};
        float* const z[2] = {scaled_.row(0, y), scaled_.row(1, y)};
        for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
            Pack<float> left[2];
            for (index_t unknown : {0, 1}) {
                left[unknown] = load(r[unknown] + i) - alpha * load(product_.row(unknown, y) + i);
                store(r[unknown] + i, left[unknown]);
            }
            if (precondition_) {
                const Pack<float> cross = load(system.inverse.row(1, y) + i);
                store(z[0] + i, load(system.inverse.row(0, y) + i) * left[0] + cross * left[1]);
                store(z[1] + i, cross * left[0] + load(system.inverse.row(2, y) + i) * left[1]);
            } else {
                store(z[0] + i, left[0]);
                store(z[1] + i, left[1]);
            }
        }
        std::array<double, 2> products{};
        for (index_t unknown : {0, 1}) {
            products[0] += row_product(r[unknown], r[unknown], shape_.columns);
            products[1] += row_product(r[unknown], z[unknown], shape_.columns);
            if (alpha == 0) continue;
            const float* p = direction_.row(unknown, y);
            float* to = x.row(unknown, y);
            for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
                store(to + i, load(to + i) + alpha * load(p + i));
            }
            set_margins(to, shape_.columns, system.boundary);
        }
        return products;
    });
    residual_squared_ = sums[0];
    scaled_product_ = sums[1];
}

}  // namespace aperture::flow
