// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/defaults.hpp"

#include <algorithm>

namespace aperture::stap {

int default_temporal_taps(const CubeShape& shape) {
    const int taps = Parameters{}.temporal_taps;
    return shape.channels * taps <= dense::max_order && shape.pulses >= taps ? taps : 1;
}

int default_training_block(const CubeShape& shape, int temporal_taps) {
    const index_t order = shape.channels * temporal_taps;
    return static_cast<int>(std::max<index_t>(Parameters{}.training_block, 2 * order));
}

int fitting_training_block(const CubeShape& shape, const Parameters& parameters, int wanted) {
    const bool window =
        parameters.training == Training::sliding || parameters.detector == Detector::cfar;
    if (parameters.training == Training::all && !window) return wanted;
    const index_t room = shape.range_cells - (window ? 2 * index_t(parameters.guard) + 1 : 0);
    return room < 1 ? wanted : static_cast<int>(std::min<index_t>(wanted, room));
}

int cells_of_block(const Parameters& parameters) {
    return parameters.training_block - (is_adaptive(parameters.detector) ? 1 : 0);
}

DiagonalLoading default_loading(const CubeShape& shape, const Parameters& parameters) {
    const index_t order = shape.channels * parameters.temporal_taps;
    return cells_of_block(parameters) >= order ? DiagonalLoading{} : rescue_loading;
}

}  // namespace aperture::stap
