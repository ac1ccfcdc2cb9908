// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/targets.hpp"

namespace aperture::stap::cpu {

/// Positions of targets between cells, by parabolas through their statistic in dB (targets.hpp).
class TargetPosition {
  public:
    /// The arguments must outlive it.
    TargetPosition(const Problem& problem, const DirectionGrid& grid,
                   core::View<const float, 3, core::Host> statistic);

    /// The target of which this is the strongest detection.
    EstimatedTarget operator()(const Detection& detection) const;

  private:
    struct Point;
    struct Peak;
    static Peak peak_between(const Point& before, const Point& after);
    const Direction& direction(index_t d) const;
    double relative_db(const Detection& detection, index_t d, index_t k, index_t r) const;
    Point in_range(const Detection& of, index_t cell) const;
    Point in_doppler(const Detection& of, int step) const;
    Peak along(const Detection& of, double Direction::*angle, int rows, int columns) const;

    const Problem& problem_;
    const DirectionGrid& grid_;
    int row_length_;
    core::View<const float, 3, core::Host> statistic_;
};

}  // namespace aperture::stap::cpu
