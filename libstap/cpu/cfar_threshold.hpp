// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "aperture/stap/parameters.hpp"

namespace aperture::stap::cpu {

/// Training of the reference cells' weights, on which the false-alarm rate depends.
enum class CfarTraining { block, sliding, sliding_at_end, all };

/// The grid of cfar_table.inc, outermost first. `spread` is G/N_R for block, 2G/N_R for sliding and
/// 2 - 2 N_R/(N-2G-1) for all.
inline constexpr std::array cfar_trainings{CfarTraining::block, CfarTraining::sliding,
                                           CfarTraining::sliding_at_end, CfarTraining::all};
inline constexpr std::array cfar_spreads{0.0, 0.5, 1.0};
inline constexpr std::array cfar_cells_per_order{8, 4, 3, 2};
inline constexpr std::array cfar_orders{32, 16, 8, 4, 2};
inline constexpr std::array cfar_decades{1.0, 2.0, 4.0, 6.0, 8.0};

/// The threshold with rate 10^-decades if all cells have the same weights (Finn & Johnson 1968).
inline double fixed_weights_threshold(double decades, index_t reference_cells) {
    const auto count = static_cast<double>(reference_cells);
    return count * std::expm1(decades * std::log(10.0) / count);
}

/// The mean output power of each range cell relative to its reference cells', with an individual
/// number of training cells each (J/(J-n+1) times the optimum, Reed, Mallett & Brennan 1974): 1
/// except near the ends of the range extent.
std::vector<double> power_by_training(const Problem& problem);

/// See detection_thresholds.
std::vector<double> cfar_thresholds(const Problem& problem, double pfa);

}  // namespace aperture::stap::cpu
