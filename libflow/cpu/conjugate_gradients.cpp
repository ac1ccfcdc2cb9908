// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/conjugate_gradients.hpp"

#include <array>

#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

ConjugateGradients::ConjugateGradients(core::Cpu& cpu, Shape shape, bool precondition)
    : cpu_(&cpu),
      shape_(shape),
      precondition_(precondition),
      residual_(2, shape),
      direction_(2, shape),
      product_(2, shape),
      scaled_(2, shape),
      kept_(2, shape),
      sums_(shape),
      zeros_(1, Shape{1, shape.columns}) {}

void ConjugateGradients::start(const PreparedSystem& system, PaddedPlanes& x, double limit) {
    system_ = &system;
    x_ = &x;
    limits_ = cg_limits(shape_, limit);
    ended_ = false;
    const double right_squared = sums_.over_rows(*cpu_, [&](index_t y) {
        return std::array<double, 2>{row_product(system.right, system.right, y), 0.0};
    })[0];
    state_ = {};
    state_.kept = -1;
    state_.kept_squared = first_kept * right_squared;
    with_coupling(system.coupling, [&](auto coupling) {
        const Operator<decltype(coupling)::value> matrix(system, x, zeros_.row(0, 0));
        for_rows(*cpu_, shape_, [&](index_t y) {
            matrix.row(y, [&](index_t i, const PackPair& product) {
                PairRow(residual_, y).store(i, load_pair(system.right, y, i) - product);
                PairRow(product_, y).store(i, PackPair{});
            });
        });
    });
    // The product is still zero: this only scales the residual and computes its norms.
    update(0.0F);
    next_direction();
}

void ConjugateGradients::advance(int count) {
    for (int i = 0; i < count && !ended_; ++i) ended_ = state_.stopped != 0 || !step();
}

bool ConjugateGradients::step() {
    const double curvature = multiply();
    if (!(curvature > limits_.products)) return false;
    state_.alpha = static_cast<float>(scaled_product_ / curvature);
    update(state_.alpha);
    ++state_.done;
    next_direction();
    return true;
}

// p = M^-1 r + beta p
void ConjugateGradients::next_direction() {
    state_ = begin_iteration(state_, residual_squared_, scaled_product_, limits_);
    const float beta = state_.beta;
    for_rows(*cpu_, shape_, [&](index_t y) {
        const PairRow p(direction_, y);
        const PairRow z(scaled_, y);
        if (state_.keep != 0) {
            const PairRow kept(kept_, y);
            const PairRow x(*x_, y);
            for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
                kept.store(i, x.load(i) - state_.alpha * p.load(i));
            }
        }
        for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
            p.store(i, beta == 0 ? z.load(i) : z.load(i) + beta * p.load(i));
        }
        set_margins(direction_, y, system_->boundary);
    });
}

void ConjugateGradients::finish() {
    if (!returns_kept(state_)) return;
    state_.done = state_.kept;
    for_rows(*cpu_, shape_, [&](index_t y) {
        const PairRow x(*x_, y);
        const PairRow kept(kept_, y);
        for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) x.store(i, kept.load(i));
        set_margins(*x_, y, system_->boundary);
    });
}

double ConjugateGradients::multiply() {
    double curvature = 0;
    with_coupling(system_->coupling, [&](auto coupling) {
        const Operator<decltype(coupling)::value> matrix(*system_, direction_, zeros_.row(0, 0));
        curvature = sums_.over_rows(*cpu_, [&](index_t y) {
            const PairRow to(product_, y);
            matrix.row(y, [&](index_t i, const PackPair& product) { to.store(i, product); });
            return std::array<double, 2>{row_product(direction_, product_, y), 0.0};
        })[0];
    });
    return curvature;
}

// x += alpha p, r -= alpha A p, M^-1 r, and the norms of r
void ConjugateGradients::update(float alpha) {
    const auto sums = sums_.over_rows(*cpu_, [&](index_t y) {
        const PairRow r(residual_, y);
        const PairRow z(scaled_, y);
        const PairRow product(product_, y);
        for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
            const PackPair left = r.load(i) - alpha * product.load(i);
            r.store(i, left);
            z.store(i, precondition_ ? load_block(system_->inverse, y, i) * left : left);
        }
        if (alpha != 0) {
            const PairRow x(*x_, y);
            const PairRow p(direction_, y);
            for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
                x.store(i, x.load(i) + alpha * p.load(i));
            }
            set_margins(*x_, y, system_->boundary);
        }
        return std::array<double, 2>{row_product(residual_, residual_, y),
                                     row_product(residual_, scaled_, y)};
    });
    residual_squared_ = sums[0];
    scaled_product_ = sums[1];
}

}  // namespace aperture::flow
