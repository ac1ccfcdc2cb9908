// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/cpu/cfar_threshold.hpp"

#include <algorithm>
#include <array>

namespace aperture::stap::cpu {

namespace {

/// Factor of the false-alarm rate's decades for fixed_weights_threshold, minus 1, in thousandths.
constexpr short table[cfar_trainings.size()][cfar_spreads.size()][cfar_cells_per_order.size()]
                     [cfar_orders.size()][cfar_decades.size()] = {
#include "libstap/cpu/cfar_table.inc"
};

/// Position of x among ascending nodes: the node `below` and the weight of the next one.
struct Position {
    std::size_t below;
    double weight;
};

template <std::size_t Count>
Position locate(const std::array<double, Count>& nodes, double x) {
    const auto* next = std::upper_bound(nodes.begin() + 1, nodes.end() - 1, x);
    const auto below = static_cast<std::size_t>(next - nodes.begin()) - 1;
    const double weight = (x - nodes[below]) / (nodes[below + 1] - nodes[below]);
    return {below, std::clamp(weight, 0.0, 1.0)};
}

template <class Value>
double interpolate(const Position& position, const Value& value) {
    return (1 - position.weight) * value(position.below) +
           position.weight * value(position.below + 1);
}

/// The table's factor minus 1. Its product with N_R is interpolated, which is almost linear in 1/n
/// and n/N_R, and 0 for order 1 and for infinitely many cells.
double deviation(CfarTraining training, double spread, const Problem& problem, double decades) {
    std::array<double, cfar_orders.size() + 1> inverse_orders{};
    std::transform(cfar_orders.begin(), cfar_orders.end(), inverse_orders.begin(),
                   [](int n) { return 1.0 / n; });
    inverse_orders.back() = 1;
    std::array<double, cfar_cells_per_order.size() + 1> orders_per_cell{};
    std::transform(cfar_cells_per_order.begin(), cfar_cells_per_order.end(),
                   orders_per_cell.begin() + 1, [](int ratio) { return 1.0 / ratio; });
    const double cells = problem.parameters.training_block;
    const Position spread_at = locate(cfar_spreads, spread);
    const Position ratio_at = locate(orders_per_cell, problem.order / cells);
    const Position order_at = locate(inverse_orders, 1.0 / problem.order);
    const Position decades_at = locate(cfar_decades, decades);
    const auto& of_training = table[static_cast<std::size_t>(training)];
    const double times_cells = interpolate(ratio_at, [&](std::size_t ratio) {
        if (ratio == 0) return 0.0;
        return interpolate(order_at, [&](std::size_t order) {
            if (order == cfar_orders.size()) return 0.0;
            const double thousandths = interpolate(spread_at, [&](std::size_t s) {
                const auto& of_rates = of_training[s][ratio - 1][order];
                return interpolate(decades_at, [&](std::size_t d) { return double(of_rates[d]); });
            });
            return thousandths * 1e-3 * cfar_orders[order] * cfar_cells_per_order[ratio - 1];
        });
    });
    return times_cells / cells;
}

double deviation_of_all(const Problem& problem, double decades) {
    const Parameters& p = problem.parameters;
    const auto trained = static_cast<double>(problem.shape.range_cells - 2 * index_t(p.guard) - 1);
    const double share = p.training_block / trained;
    // The table ends where training has twice the reference cells; the factor is small there.
    return std::min(2 * share, 1.0) * deviation(CfarTraining::all, 2 - 2 * share, problem, decades);
}

double deviation_of_sliding(const Problem& problem, index_t range_cell, double decades) {
    const Parameters& p = problem.parameters;
    const double spread = 2.0 * p.guard / p.training_block;
    const double half_window = p.training_block / 2.0 + p.guard;
    const index_t cells = problem.shape.range_cells;
    const auto inwards = static_cast<double>(std::min(range_cell, cells - 1 - range_cell));
    const double inside = std::min(inwards / half_window, 1.0);
    const double windowed =
        inside * deviation(CfarTraining::sliding, spread, problem, decades) +
        (1 - inside) * deviation(CfarTraining::sliding_at_end, spread, problem, decades);
    // If the window is as long as the cube, all its cells train.
    const double longer = static_cast<double>(cells) / (2 * half_window + 1) - 1;
    if (longer >= 1) return windowed;
    return longer * windowed + (1 - longer) * deviation_of_all(problem, decades);
}

double deviation(const Problem& problem, index_t range_cell, double decades) {
    const Parameters& p = problem.parameters;
    if (p.training == Training::all) return deviation_of_all(problem, decades);
    if (p.training == Training::sliding) return deviation_of_sliding(problem, range_cell, decades);
    return deviation(CfarTraining::block, double(p.guard) / p.training_block, problem, decades);
}

}  // namespace

std::vector<double> power_by_training(const Problem& problem) {
    const Parameters& p = problem.parameters;
    const index_t cells = problem.shape.range_cells;
    std::vector<double> relative(static_cast<std::size_t>(cells), 1.0);
    if (p.training == Training::block) return relative;
    // Sums over all cells before one.
    std::vector<double> power_before{0.0};
    const auto power = [&](index_t cell) {
        const auto trained = static_cast<double>(training_window(problem, cell).cells());
        return trained / (trained - problem.order + 1);
    };
    for (index_t cell = 0; cell < cells; ++cell) {
        power_before.push_back(power_before.back() + power(cell));
    }
    const auto sum = [&](const RangeSpan& span) {
        return power_before[static_cast<std::size_t>(span.end)] -
               power_before[static_cast<std::size_t>(span.begin)];
    };
    const index_t reach = p.training_block + 2 * index_t(p.guard) + 2;
    for (index_t cell = 0; cell < cells; ++cell) {
        if (std::min(cell, cells - 1 - cell) >= reach) continue;
        const TrainingWindow references = reference_window(problem, cell);
        relative[static_cast<std::size_t>(cell)] =
            power(cell) * static_cast<double>(references.cells()) /
            (sum(references.window) - sum(references.excluded));
    }
    return relative;
}

std::vector<double> cfar_thresholds(const Problem& problem, double pfa) {
    const Parameters& p = problem.parameters;
    core::expects(p.training_block >= 2 * problem.order, p.training_block,
                  " reference cells for order ", problem.order,
                  ": the false-alarm rate of cfar requires at least twice the order; use a "
                  "training block of ",
                  2 * problem.order, " or more, or fewer taps");
    const double decades = -std::log10(pfa);
    std::vector<double> thresholds = power_by_training(problem);
    for (index_t cell = 0; cell < problem.shape.range_cells; ++cell) {
        thresholds[static_cast<std::size_t>(cell)] *=
            fixed_weights_threshold(decades * (1 + deviation(problem, cell, decades)),
                                    reference_window(problem, cell).cells());
    }
    return thresholds;
}

}  // namespace aperture::stap::cpu
