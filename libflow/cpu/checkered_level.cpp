// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/checkered_level.hpp"

#include <algorithm>
#include <array>

#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

using core::load;
using core::Pack;
using core::store;

namespace {

/// Smaller levels run on the calling thread: waking others takes longer.
constexpr index_t pixels_for_threads = 8192;

}  // namespace

/// Neighbours of the pixels of one parity of a row; entry k of each belongs to pixel k of the row.
struct CheckeredLevel::Neighbours {
    const float* here;
    const float* left;
    const float* right;
    const float* above;
    const float* below;
    /// The rows above and below, at the columns to the left and to the right.
    const float* above_left;
    const float* above_right;
    const float* below_left;
    const float* below_right;
};

CheckeredLevel::CheckeredLevel(core::Cpu& cpu, Shape shape)
    : cpu_(&cpu),
      shape_(shape),
      tensor_(3, shape),
      inverse_(3, shape),
      right_(2, shape),
      unknowns_(2, shape),
      residual_(2, shape),
      sums_(shape),
      zeros_(1, Shape{1, end_of(0)}) {}

template <class DoRow>
void CheckeredLevel::in_stages(int stages, const DoRow& do_row) const {
    if (shape_.rows * shape_.columns >= pixels_for_threads) {
        return run_wavefront(*cpu_, shape_.rows, stages, do_row);
    }
    for (int s = 0; s < stages; ++s) {
        for (index_t y = 0; y < shape_.rows; ++y) do_row(s, y);
    }
}

template <class DoRow>
void CheckeredLevel::over_rows(const DoRow& do_row) const {
    in_stages(1, [&](int, index_t y) { do_row(y); });
}

/// Loads the rows of a system whose form is set, and inverts its blocks.
template <class LoadRow>
void CheckeredLevel::prepare(const LoadRow& load_row) {
    if (coupling_ != Coupling::five && weights_.empty()) weights_ = SplitPlanes(2, shape_);
    with_coupling(coupling_, [&](auto coupling) {
        in_stages(2, [&](int stage, index_t y) {
            if (stage == 0) return load_row(y);
            for (int parity : {0, 1}) invert_row<decltype(coupling)::value>(y, parity);
        });
    });
}

void CheckeredLevel::load_system(const LinearSystem<core::Host>& system) {
    boundary_ = system.boundary;
    coupling_ = coupling_of(system);
    smoothness_ = system.smoothness;
    hidden_ = hidden_tensor * smoothness_;
    prepare([&](index_t y) {
        for (index_t i : {0, 1, 2}) {
            tensor_.load_row(i, y, &system.tensor(i, y, 0), shape_.columns);
        }
        for (index_t i : {0, 1}) {
            right_.load_row(i, y, &system.right(i, y, 0), shape_.columns);
        }
        if (coupling_ != Coupling::weighted) return;
        for (index_t x = 0; x < shape_.columns; ++x) {
            const auto parity = static_cast<int>(x % 2);
            weights_.row(0, parity, y)[x / 2] =
                x + 1 == shape_.columns ? 0.0F : smoothness_ * system.coupling(0, y, x);
            weights_.row(1, parity, y)[x / 2] =
                y + 1 == shape_.rows ? 0.0F : smoothness_ * system.coupling(1, y, x);
        }
    });
}

void CheckeredLevel::coarsen(const CheckeredLevel& fine) {
    boundary_ = fine.boundary_;
    coupling_ = fine.coupling_;
    smoothness_ = fine.smoothness_ / 4;
    border_ = fine.border_.coarser(fine.shape_.rows, fine.shape_.columns);
    hidden_ = fine.hidden_;
    prepare([&](index_t y) {
        for (index_t i = 0; i < 3; ++i) fine.average_row(fine.tensor_, i, y, tensor_);
        if (coupling_ != Coupling::weighted) return;
        // An eighth of the weights of the two edges that leave a block of 2x2 pixels.
        const index_t second = std::min(2 * y + 1, fine.shape_.rows - 1);
        const float below_share = is_alone(y, fine.shape_.rows) ? 0.0F : 1.0F;
        for (index_t x = 0; x < shape_.columns; ++x) {
            const auto parity = static_cast<int>(x % 2);
            const int other = 2 * x + 1 == fine.shape_.columns ? 0 : 1;
            const float right_share = is_alone(x, fine.shape_.columns) ? 0.0F : 1.0F;
            weights_.row(0, parity, y)[x / 2] =
                x + 1 == shape_.columns
                    ? 0.0F
                    : 0.125F * (fine.weights_.row(0, 1, 2 * y)[x] +
                                below_share * fine.weights_.row(0, 1, second)[x]);
            weights_.row(1, parity, y)[x / 2] =
                y + 1 == shape_.rows
                    ? 0.0F
                    : 0.125F * (fine.weights_.row(1, 0, second)[x] +
                                right_share * fine.weights_.row(1, other, second)[x]);
        }
    });
    if (!is_coarsest(shape_) || boundary_ == Boundary::zero) return;
    const auto at = [](SplitPlanes& planes, index_t i) -> float& { return planes.row(i, 0, 0)[0]; };
    const SymmetricMatrix<float> inverse =
        inverse_of_mean({at(tensor_, 0), at(tensor_, 1), at(tensor_, 2)}, hidden_);
    at(inverse_, 0) = inverse.a11;
    at(inverse_, 1) = inverse.a12;
    at(inverse_, 2) = inverse.a22;
}

// Weight of the pixel itself in S through replicated borders. It is left out, so that a border
// pixel is relaxed as fully as any other.
float CheckeredLevel::repeats(index_t y, index_t x) const {
    if (boundary_ == Boundary::zero) return 0;
    return weight_of_repeats(coupling_, shape_.rows, shape_.columns, y, x);
}

/// d of a pixel for Coupling::five and Coupling::nine.
float CheckeredLevel::degree_of(index_t y, index_t x) const {
    const float excess =
        boundary_ == Boundary::zero ? border_.excess(shape_.rows, shape_.columns, y, x) : 0.0F;
    return smoothness_ * (weight_of_neighbours(coupling_) - repeats(y, x) + excess);
}

/// Weights between the pixels of one parity of a row and their neighbours, as in Neighbours; for
/// Coupling::weighted only.
struct CheckeredLevel::EdgeWeights {
    const float* left;
    const float* right;
    const float* above;
    const float* below;
};

template <Coupling coupling>
CheckeredLevel::EdgeWeights CheckeredLevel::weights_around(int parity, index_t y) const {
    if constexpr (coupling != Coupling::weighted) return {};
    return {weights_.row(0, 1 - parity, y) + (parity == 0 ? -1 : 0), weights_.row(0, parity, y),
            y > 0 ? weights_.row(1, parity, y - 1) : zeros_.row(0, 0), weights_.row(1, parity, y)};
}

/// d of a pack of pixels of one row and parity.
template <Coupling coupling>
struct CheckeredLevel::Degree {
    Degree(const CheckeredLevel& level, int parity, index_t y)
        : weights(level.weights_around<coupling>(parity, y)) {
        if constexpr (coupling == Coupling::weighted) return;
        const index_t end = level.shape_.columns - 1;
        if (parity == 0) first = 0;
        if (end % 2 == parity) last = end / 2;
        at_first = level.degree_of(y, 0);
        at_last = level.degree_of(y, end);
        inner = end > 1 ? level.degree_of(y, 1) : at_first;
    }

    Pack<float> operator()(index_t k) const {
        if constexpr (coupling == Coupling::weighted) {
            return (load(weights.left + k) + load(weights.right + k)) +
                   (load(weights.above + k) + load(weights.below + k));
        } else {
            Pack<float> d = core::broadcast(inner);
            if (k == first) d[0] = at_first;
            if (last >= k && last < k + core::lanes<float>) d[last - k] = at_last;
            return d;
        }
    }

    EdgeWeights weights;
    float inner = 0;
    float at_first = 0;
    float at_last = 0;
    index_t first = -1;  ///< indices of the row's ends, -1 if they have the other parity
    index_t last = -1;
};

template <Coupling coupling>
void CheckeredLevel::invert_row(index_t y, int parity) {
    const Degree<coupling> degree(*this, parity, y);
    for (index_t k = 0, end = end_of(parity); k < end; k += core::lanes<float>) {
        const SymmetricBlock inverse =
            inverse_block({load(tensor_.row(0, parity, y) + k), load(tensor_.row(1, parity, y) + k),
                           load(tensor_.row(2, parity, y) + k)},
                          degree(k));
        store(inverse_.row(0, parity, y) + k, inverse.a11);
        store(inverse_.row(1, parity, y) + k, inverse.a12);
        store(inverse_.row(2, parity, y) + k, inverse.a22);
    }
    if constexpr (coupling == Coupling::nine) {
        for (index_t k = 0; k < end_of(parity); ++k) {
            weights_.row(0, parity, y)[k] = smoothness_ * repeats(y, 2 * k + parity);
        }
    }
}

void CheckeredLevel::set_unknown_margins(index_t y) {
    const bool clamp = coupling_ == Coupling::nine && boundary_ == Boundary::replicate;
    const index_t last = shape_.columns - 1;
    const auto last_parity = static_cast<int>(last % 2);
    for (index_t unknown : {0, 1}) {
        float* even = unknowns_.row(unknown, 0, y);
        unknowns_.row(unknown, 1, y)[-1] = clamp ? even[0] : 0.0F;
        const float end = unknowns_.row(unknown, last_parity, y)[last / 2];
        unknowns_.row(unknown, 1 - last_parity, y)[(last + 1) / 2] = clamp ? end : 0.0F;
    }
}

void CheckeredLevel::load_unknowns(ConstFlowView<core::Host> flow) {
    over_rows([&](index_t y) {
        for (index_t i : {0, 1}) unknowns_.load_row(i, y, &flow(i, y, 0), shape_.columns);
        set_unknown_margins(y);
    });
}

void CheckeredLevel::store_unknowns(FlowView<core::Host> flow) const {
    over_rows([&](index_t y) {
        for (index_t i : {0, 1}) unknowns_.store_row(i, y, &flow(i, y, 0), shape_.columns);
    });
}

void CheckeredLevel::clear_unknowns() {
    over_rows([&](index_t y) {
        for (index_t i : {0, 1}) {
            for (int parity : {0, 1}) {
                std::fill_n(unknowns_.row(i, parity, y) - 1, end_of(0) + 2, 0.0F);
            }
        }
    });
}

CheckeredLevel::Neighbours CheckeredLevel::around(index_t unknown, int parity, index_t y) const {
    const bool clamp = coupling_ == Coupling::nine && boundary_ == Boundary::replicate;
    const auto row = [&](int of, index_t at) {
        if (at >= 0 && at < shape_.rows) return unknowns_.row(unknown, of, at);
        return clamp ? unknowns_.row(unknown, of, y) : zeros_.row(0, 0);
    };
    // In the other parity, the column to the left has the same index or the previous one.
    const int other = 1 - parity;
    const index_t left = parity == 0 ? -1 : 0;
    return {row(parity, y),
            row(other, y) + left,
            row(other, y) + left + 1,
            row(parity, y - 1),
            row(parity, y + 1),
            row(other, y - 1) + left,
            row(other, y - 1) + left + 1,
            row(other, y + 1) + left,
            row(other, y + 1) + left + 1};
}

/// S of a pack of pixels, with alpha^2, without the pixel itself through replicated borders.
template <Coupling coupling>
struct CheckeredLevel::Sum {
    Sum(const CheckeredLevel& level, int parity, index_t y)
        : smoothness(level.smoothness_), weights(level.weights_around<coupling>(parity, y)) {
        if constexpr (coupling == Coupling::nine) repeats = level.weights_.row(0, parity, y);
    }

    Pack<float> operator()(const Neighbours& n, index_t k) const {
        if constexpr (coupling == Coupling::weighted) {
            return (load(weights.left + k) * load(n.left + k) +
                    load(weights.right + k) * load(n.right + k)) +
                   (load(weights.above + k) * load(n.above + k) +
                    load(weights.below + k) * load(n.below + k));
        } else {
            const Pack<float> four =
                (load(n.left + k) + load(n.right + k)) + (load(n.above + k) + load(n.below + k));
            if constexpr (coupling == Coupling::five) return smoothness * four;
            const Pack<float> diagonal = (load(n.above_left + k) + load(n.above_right + k)) +
                                         (load(n.below_left + k) + load(n.below_right + k));
            return smoothness * (0.5F * four + 0.25F * diagonal) -
                   load(repeats + k) * load(n.here + k);
        }
    }

    float smoothness;
    EdgeWeights weights;
    const float* repeats = nullptr;
};

template <Coupling coupling>
void CheckeredLevel::update_row(index_t y, int parity, float omega) {
    const Neighbours u = around(0, parity, y);
    const Neighbours v = around(1, parity, y);
    const Sum<coupling> sum(*this, parity, y);
    float* const to_u = unknowns_.row(0, parity, y);
    float* const to_v = unknowns_.row(1, parity, y);
    const float* i11 = inverse_.row(0, parity, y);
    const float* i12 = inverse_.row(1, parity, y);
    const float* i22 = inverse_.row(2, parity, y);
    const float* b_u = right_.row(0, parity, y);
    const float* b_v = right_.row(1, parity, y);
    for (index_t k = 0, end = end_of(parity); k < end; k += core::lanes<float>) {
        PackPair next = SymmetricBlock{load(i11 + k), load(i12 + k), load(i22 + k)} *
                        PackPair{sum(u, k) + load(b_u + k), sum(v, k) + load(b_v + k)};
        if (omega != 1) {
            const PackPair here{load(to_u + k), load(to_v + k)};
            next = here + omega * (next - here);
        }
        store(to_u + k, next.u);
        store(to_v + k, next.v);
    }
    set_unknown_margins(y);
}

// The colours of Coupling::nine are those of a 2x2 block, otherwise those of a chess board.
template <Coupling coupling>
void CheckeredLevel::update_colour(int colour, index_t y, float omega) {
    if constexpr (coupling == Coupling::nine) {
        if (y % 2 == colour / 2) update_row<coupling>(y, colour % 2, omega);
    } else {
        update_row<coupling>(y, static_cast<int>((y + colour) % 2), omega);
    }
}

void CheckeredLevel::relax(const Pass& pass) {
    cpu_->checkpoint();
    with_coupling(coupling_, [&](auto coupling) {
        constexpr Coupling kind = decltype(coupling)::value;
        constexpr int colours = colours_of(kind);
        const int first = pass.prolonged != nullptr ? 1 : 0;
        const int last = first + colours * pass.sweeps;
        in_stages(last + (pass.restricted != nullptr ? 1 : 0), [&](int stage, index_t y) {
            if (stage < first) return prolong_row(*pass.prolonged, pass.share, y);
            if (stage < last) return update_colour<kind>((stage - first) % colours, y, pass.omega);
            for (int parity : {0, 1}) compute_residual<kind>(y, parity);
        });
    });
    if (pass.restricted != nullptr) average_into(*pass.restricted, residual_);
}

/// Row y of a plane on the next coarser level.
void CheckeredLevel::average_row(const SplitPlanes& planes, index_t plane, index_t y,
                                 SplitPlanes& to) const {
    const index_t second = std::min(2 * y + 1, shape_.rows - 1);
    const auto below = [&](int parity) {
        return is_alone(y, shape_.rows) ? zeros_.row(0, 0) : planes.row(plane, parity, second);
    };
    average_rows(planes.row(plane, 0, 2 * y), planes.row(plane, 1, 2 * y), below(0), below(1),
                 shape_.columns, to.row(plane, 0, y), to.row(plane, 1, y));
}

void CheckeredLevel::average_into(CheckeredLevel& coarse, const SplitPlanes& planes) const {
    coarse.over_rows([&](index_t y) {
        for (index_t i : {0, 1}) average_row(planes, i, y, coarse.right_);
    });
}

// Bilinear: three quarters of the block's own value and a quarter of the nearest other one along
// each axis.
void CheckeredLevel::prolong_row(const CheckeredLevel& coarse, float share, index_t y) {
    const bool clamp = boundary_ == Boundary::replicate;
    const index_t columns = coarse.shape_.columns;
    const index_t near = y / 2;
    const index_t far = y % 2 == 0 ? near - 1 : near + 1;
    const bool inside = far >= 0 && far < coarse.shape_.rows;
    const float near_weight = share * 0.75F;
    const float far_weight = inside || clamp ? share * 0.25F : 0.0F;
    for (index_t unknown : {0, 1}) {
        // Entry x of `mixed` is column x of the coarse level, interpolated between its rows.
        float* const mixed = residual_.row(unknown, 0, y);
        for (int parity : {0, 1}) {
            const float* own = coarse.unknowns_.row(unknown, parity, near);
            const float* other = coarse.unknowns_.row(unknown, parity, inside ? far : near);
            for (index_t j = 0; j < (columns - parity + 1) / 2; ++j) {
                mixed[2 * j + parity] = near_weight * own[j] + far_weight * other[j];
            }
        }
        mixed[-1] = clamp ? mixed[0] : 0.0F;
        mixed[columns] = clamp ? mixed[columns - 1] : 0.0F;
        float* const even = unknowns_.row(unknown, 0, y);
        float* const odd = unknowns_.row(unknown, 1, y);
        for (index_t x = 0; x < columns; ++x) even[x] += 0.75F * mixed[x] + 0.25F * mixed[x - 1];
        for (index_t x = 0; x < shape_.columns / 2; ++x) {
            odd[x] += 0.75F * mixed[x] + 0.25F * mixed[x + 1];
        }
    }
    set_unknown_margins(y);
}

template <Coupling coupling>
void CheckeredLevel::compute_residual(index_t y, int parity) {
    const Neighbours u = around(0, parity, y);
    const Neighbours v = around(1, parity, y);
    const Sum<coupling> sum(*this, parity, y);
    const Degree<coupling> degree(*this, parity, y);
    const float* j11 = tensor_.row(0, parity, y);
    const float* j12 = tensor_.row(1, parity, y);
    const float* j22 = tensor_.row(2, parity, y);
    const float* b_u = right_.row(0, parity, y);
    const float* b_v = right_.row(1, parity, y);
    float* const to_u = residual_.row(0, parity, y);
    float* const to_v = residual_.row(1, parity, y);
    for (index_t k = 0, end = end_of(parity); k < end; k += core::lanes<float>) {
        const Pack<float> d = degree(k);
        const PackPair here{load(u.here + k), load(v.here + k)};
        const PackPair product = SymmetricBlock{load(j11 + k), load(j12 + k), load(j22 + k)} * here;
        store(to_u + k, load(b_u + k) - product.u - (d * here.u - sum(u, k)));
        store(to_v + k, load(b_v + k) - product.v - (d * here.v - sum(v, k)));
    }
    // Clears what whole packs stored behind the last pixel.
    for (index_t k = end_of(parity); k < end_of(0); ++k) to_u[k] = to_v[k] = 0;
}

double CheckeredLevel::residual_squared() {
    double sum = 0;
    with_coupling(coupling_, [&](auto coupling) {
        sum = sums_.over_rows(*cpu_, [&](index_t y) {
            double squares = 0;
            for (int parity : {0, 1}) {
                compute_residual<decltype(coupling)::value>(y, parity);
                const float* u = residual_.row(0, parity, y);
                const float* v = residual_.row(1, parity, y);
                squares += row_product(u, u, end_of(parity)) + row_product(v, v, end_of(parity));
            }
            return std::array<double, 1>{squares};
        })[0];
    });
    return sum;
}

}  // namespace aperture::flow
