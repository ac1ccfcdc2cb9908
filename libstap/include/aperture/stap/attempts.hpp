// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"

// Kernels include this header: no standard library here.

/// Precision::automatic computes a covariance's weights in fp32, again in fp64 if fp32 cannot be
/// trusted, and then with increasing loading while the matrix still cannot be factored. Every
/// attempt replaces all results of the previous one.
namespace aperture::stap {

inline constexpr int first_attempt = 0;         ///< fp32
inline constexpr int fp64_attempt = 1;          ///< covariance and solution in fp64
inline constexpr int first_loaded_attempt = 2;  ///< fp64 with loading, see automatic_loading
inline constexpr int last_attempt = 12;

/// Diagonal loading in units of trace(R)/n: 10^-12 for the first loaded attempt, ten times more per
/// further attempt, up to 10^-2; 0 for attempts without loading.
APERTURE_HD constexpr double automatic_loading(int attempt) {
    if (attempt < first_loaded_attempt) return 0;
    double loading = 1e-12;
    for (int i = first_loaded_attempt; i < attempt; ++i) loading *= 10;
    return loading;
}

/// Limit of unit roundoff (of covariance and solution) times order times pivot ratio, which
/// predicts the relative error of v^H R^-1 v. Measured over CNR 0 to 80 dB, orders 4 to 60 and n +
/// 2 to 16 n training cells, no error above 1 % occurred below ten times this limit (scripts/pfa,
/// docs/stap_precision.md).
inline constexpr double trust_limit = 1.5e-4;

/// Whether weights can be trusted.
APERTURE_HD constexpr bool is_trusted(double roundoff, int info, float pivot_ratio, int order) {
    return info == 0 && roundoff * order * static_cast<double>(pivot_ratio) <= trust_limit;
}

/// Whether a matrix with these results of attempt number `attempt` needs another one.
APERTURE_HD constexpr bool needs_another(int attempt, int info, float pivot_ratio, int order) {
    const double roundoff = attempt == first_attempt ? 0x1p-24 : 0x1p-53;
    return attempt < last_attempt && !is_trusted(roundoff, info, pivot_ratio, order);
}

}  // namespace aperture::stap
