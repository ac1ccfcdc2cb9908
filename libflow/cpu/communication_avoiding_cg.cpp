// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/communication_avoiding_cg.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

CommunicationAvoidingCg::CommunicationAvoidingCg(core::Cpu& cpu, Shape shape,
                                                 const SolverParameters& parameters)
    : cpu_(&cpu),
      shape_(shape),
      parameters_(parameters),
      direction_(2, shape),
      scaled_(2, shape),
      recurred_(2, shape),
      before_(2, shape),
      residual_sums_(shape),
      zeros_(1, Shape{1, shape.columns}) {
    const index_t vectors = 2 * parameters.s_step + 1;
    for (index_t i = 0; i < vectors; ++i) basis_.emplace_back(2, shape);
    row_sums_ = core::Array<double, 2>({shape.rows, vectors * (vectors + 1)});
}

void CommunicationAvoidingCg::start(const PreparedSystem& system, PaddedPlanes& x, double limit,
                                    bool with_history) {
    system_ = &system;
    solution_ = &x;
    limits_ = {limit, parameters_.iterations};
    with_history_ = with_history;
    state_ = {};
    state_.steps = parameters_.s_step;
    state_.products = 1;
    state_ = evaluate_round(state_, true_residual(nullptr), limits_);
    history_.clear();
    if (with_history) history_.push_back(state_.start_squared);
    direction_.copy(scaled_);
    recurrence_.assign(parameters_.basis, parameters_.s_step,
                       std::max(largest_eigenvalue(), least_bound));
}

// Without preconditioning, from powers of A on the residual.
double CommunicationAvoidingCg::largest_eigenvalue() {
    if (parameters_.precondition) return largest_preconditioned;
    recurrence_.assign(Basis::monomial, 1, 2);
    basis_[0].copy(scaled_);
    double largest = 0;
    for (int i = 0; i < eigenvalue_powers; ++i) {
        build(0, 1);
        ++state_.products;
        double before = 0;
        double after = 0;
        for (index_t y = 0; y < shape_.rows; ++y) {
            for (index_t unknown : {0, 1}) {
                const float* from = basis_[0].row(unknown, y);
                const float* to = basis_[1].row(unknown, y);
                before += row_product(from, from, shape_.columns);
                after += row_product(to, to, shape_.columns);
            }
        }
        if (!(before > 0) || !std::isfinite(after)) break;
        largest = std::max(largest, std::sqrt(after / before));
        const auto scale = static_cast<float>(1 / largest);
        for (index_t y = 0; y < shape_.rows; ++y) {
            for (index_t x = 0; x < shape_.columns; x += core::lanes<float>) {
                PairRow(basis_[0], y).store(x, scale * load_pair(basis_[1], y, x));
            }
            set_margins(basis_[0], y, system_->boundary);
        }
    }
    return eigenvalue_safety * largest;
}

// Computes y_(first + 1) to y_(first + degree) from y_first.
void CommunicationAvoidingCg::build(index_t first, int degree) {
    const PreparedSystem& system = *system_;
    with_coupling(system.coupling, [&](auto coupling) {
        for (int k = 0; k < degree; ++k) {
            const auto at = static_cast<std::size_t>(first + k);
            const PaddedPlanes& now = basis_[at];
            const PaddedPlanes& last = basis_[k > 0 ? at - 1 : at];
            PaddedPlanes& next = basis_[at + 1];
            const auto step = static_cast<std::size_t>(k);
            const auto scale = static_cast<float>(1 / recurrence_.scale[step]);
            const auto shift = static_cast<float>(recurrence_.shift[step]);
            const auto back = static_cast<float>(recurrence_.back[step]);
            const Operator<decltype(coupling)::value> matrix(system, now, zeros_.row(0, 0));
            for_rows(*cpu_, shape_, [&](index_t y) {
                matrix.row(y, [&](index_t i, const PackPair& product) {
                    const PackPair of_b = parameters_.precondition
                                              ? load_block(system.inverse, y, i) * product
                                              : product;
                    PairRow(next, y).store(i, scale * (of_b - shift * load_pair(now, y, i) -
                                                       back * load_pair(last, y, i)));
                });
                set_margins(next, y, system.boundary);
            });
        }
    });
}

void CommunicationAvoidingCg::compute_gram() {
    const PreparedSystem& system = *system_;
    const index_t count = vectors();
    const index_t row_floats = whole_packs(shape_.columns);
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(2 * count * row_floats);
    core::for_each_task(*cpu_, shape_.rows, bytes, [&](index_t y, std::byte* scratch) {
        auto* const weighted = reinterpret_cast<float*>(scratch);
        const auto weighted_row = [&](index_t j, index_t unknown) {
            return weighted + (2 * j + unknown) * row_floats;
        };
        for (index_t j = 0; j < count; ++j) {
            for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
                PackPair vector = load_pair(basis_[static_cast<std::size_t>(j)], y, i);
                if (parameters_.precondition) {
                    SymmetricBlock m = load_block(system.tensor, y, i);
                    const core::Pack<float> d = system.degrees(y, i);
                    m.a11 += d;
                    m.a22 += d;
                    vector = m * vector;
                }
                core::store(weighted_row(j, 0) + i, vector.u);
                core::store(weighted_row(j, 1) + i, vector.v);
            }
        }
        double* sums = &row_sums_(y, 0);
        for (index_t j = 0; j < count; ++j) {
            for (index_t i = 0; i <= j; ++i) {
                const PaddedPlanes& vector = basis_[static_cast<std::size_t>(i)];
                double product = 0;
                double norm = 0;
                for (index_t unknown : {0, 1}) {
                    product += row_product(vector.row(unknown, y), weighted_row(j, unknown),
                                           shape_.columns);
                    if (!with_history_) continue;
                    norm += row_product(weighted_row(i, unknown), weighted_row(j, unknown),
                                        shape_.columns);
                }
                *sums++ = product;
                *sums++ = norm;
            }
        }
    });
    const auto side = static_cast<std::size_t>(count);
    gram_.assign(side * side, 0);
    norms_.assign(side * side, 0);
    for (index_t y = 0; y < shape_.rows; ++y) {
        const double* sums = &row_sums_(y, 0);
        for (std::size_t j = 0; j < side; ++j) {
            for (std::size_t i = 0; i <= j; ++i) {
                gram_[j * side + i] += *sums++;
                norms_[j * side + i] += *sums++;
            }
        }
    }
    for (std::size_t j = 0; j < side; ++j) {
        for (std::size_t i = 0; i < j; ++i) {
            gram_[i * side + j] = gram_[j * side + i];
            norms_[i * side + j] = norms_[j * side + i];
        }
    }
}

void CommunicationAvoidingCg::multiply(const Coordinates& of, Coordinates& result) const {
    result.assign(of.size(), 0);
    const auto add_part = [&](std::size_t first, std::size_t count) {
        for (std::size_t k = 0; k + 1 < count; ++k) {
            const double value = of[first + k];
            result[first + k + 1] += recurrence_.scale[k] * value;
            result[first + k] += recurrence_.shift[k] * value;
            if (k > 0) result[first + k - 1] += recurrence_.back[k] * value;
        }
    };
    const auto s = static_cast<std::size_t>(state_.steps);
    add_part(0, s + 1);
    add_part(s + 1, s);
}

double CommunicationAvoidingCg::product(const std::vector<double>& gram, const Coordinates& a,
                                        const Coordinates& b) const {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < b.size(); ++j) sum += a[i] * gram[i * b.size() + j] * b[j];
    }
    return sum;
}

int CommunicationAvoidingCg::iterate(int most) {
    const auto count = static_cast<std::size_t>(vectors());
    x_.assign(count, 0);
    z_.assign(count, 0);
    p_.assign(count, 0);
    p_[0] = 1;
    z_[static_cast<std::size_t>(state_.steps) + 1] = 1;
    double before = product(gram_, z_, z_);
    int done = 0;
    while (done < std::min(state_.steps, most)) {
        multiply(p_, product_);
        const double curvature = product(gram_, p_, product_);
        if (!(before > 0) || !(curvature > 0)) break;
        const double alpha = before / curvature;
        for (std::size_t i = 0; i < count; ++i) {
            x_[i] += alpha * p_[i];
            z_[i] -= alpha * product_[i];
        }
        const double after = product(gram_, z_, z_);
        const double beta = after / before;
        for (std::size_t i = 0; i < count; ++i) p_[i] = z_[i] + beta * p_[i];
        before = after;
        ++done;
        if (with_history_) history_.push_back(std::max(product(norms_, z_, z_), 0.0));
    }
    return done;
}

// x += Y x', z = Y z', p = Y p'
void CommunicationAvoidingCg::combine() {
    PaddedPlanes& x = *solution_;
    for_rows(*cpu_, shape_, [&](index_t y) {
        for (index_t i = 0; i < shape_.columns; i += core::lanes<float>) {
            const PackPair old = load_pair(x, y, i);
            PackPair sum_x{}, sum_z{}, sum_p{};
            for (std::size_t k = 0; k < x_.size(); ++k) {
                const PackPair vector = load_pair(basis_[k], y, i);
                sum_x = sum_x + static_cast<float>(x_[k]) * vector;
                sum_z = sum_z + static_cast<float>(z_[k]) * vector;
                sum_p = sum_p + static_cast<float>(p_[k]) * vector;
            }
            PairRow(before_, y).store(i, old);
            PairRow(x, y).store(i, old + sum_x);
            PairRow(recurred_, y).store(i, sum_z);
            PairRow(direction_, y).store(i, sum_p);
        }
        set_margins(x, y, system_->boundary);
    });
}

RoundSums CommunicationAvoidingCg::true_residual(const PaddedPlanes* expected) {
    const PreparedSystem& system = *system_;
    std::array<double, 3> all{};
    with_coupling(system.coupling, [&](auto coupling) {
        const Operator<decltype(coupling)::value> matrix(system, *solution_, zeros_.row(0, 0));
        all = residual_sums_.over_rows(*cpu_, [&](index_t y) {
            std::array<double, 3> of_row{};
            matrix.row(y, [&](index_t i, const PackPair& product) {
                const PackPair r = load_pair(system.right, y, i) - product;
                const PackPair z =
                    parameters_.precondition ? load_block(system.inverse, y, i) * r : r;
                PairRow(scaled_, y).store(i, z);
                const index_t valid = std::min<index_t>(core::lanes<float>, shape_.columns - i);
                for (index_t lane = 0; lane < valid; ++lane) {
                    const auto squared = [&](double u, double v) { return u * u + v * v; };
                    of_row[0] += squared(r.u[lane], r.v[lane]);
                    of_row[1] += squared(z.u[lane], z.v[lane]);
                    if (expected == nullptr) continue;
                    const auto away = [&](float found, index_t unknown) {
                        return static_cast<double>(found) -
                               static_cast<double>(expected->row(unknown, y)[i + lane]);
                    };
                    of_row[2] += squared(away(z.u[lane], 0), away(z.v[lane], 1));
                }
            });
            set_margins(scaled_, y, system.boundary);
            return of_row;
        });
    });
    return {all[0], all[1], all[2]};
}

void CommunicationAvoidingCg::advance(int rounds) {
    for (int i = 0; i < rounds && state_.stopped == 0; ++i) run_round();
}

void CommunicationAvoidingCg::append_history(double right, std::vector<double>& residuals) const {
    for (const double squared : history_) residuals.push_back(std::sqrt(squared) / right);
}

void CommunicationAvoidingCg::run_round() {
    PaddedPlanes& x = *solution_;
    const int s = state_.steps;
    basis_[0].copy(direction_);
    basis_[static_cast<std::size_t>(s) + 1].copy(scaled_);
    build(0, s);
    build(s + 1, s - 1);
    compute_gram();
    const int done = state_.done;
    const std::size_t recorded = history_.size();
    state_.iterated = iterate(limits_.iterations - done);
    combine();
    state_ = evaluate_round(state_, true_residual(&recurred_), limits_);
    if (state_.done == done) {
        // The round is discarded.
        history_.resize(recorded);
        for_rows(*cpu_, shape_, [&](index_t y) {
            for (index_t unknown : {0, 1}) {
                std::copy_n(before_.row(unknown, y), shape_.columns, x.row(unknown, y));
            }
            set_margins(x, y, system_->boundary);
        });
        if (state_.stopped != 0) return;
        true_residual(nullptr);
        ++state_.products;
    }
    if (state_.replaced == 0) scaled_.copy(recurred_);
    if (state_.restart != 0) direction_.copy(scaled_);
    for_rows(*cpu_, shape_, [&](index_t y) {
        set_margins(direction_, y, system_->boundary);
        set_margins(scaled_, y, system_->boundary);
    });
}

}  // namespace aperture::flow
