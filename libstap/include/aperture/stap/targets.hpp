// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/steering.hpp"

namespace aperture::stap {

/// The array and where its steering vectors look.
struct DirectionGrid {
    std::vector<ElementPosition> elements;  ///< one per channel; empty if directions are unknown
    std::vector<Direction> directions;      ///< one per steering vector; empty if unknown
    int row_length = 0;                     ///< see find_detections
};

/// Detections that one wave explains. Positions are interpolated between cells.
struct EstimatedTarget {
    Detection strongest;
    double range_cell = 0;
    double doppler = 0;            ///< cycles per pulse, -0.5 .. 0.5
    double azimuth_degrees = 0;    ///< NaN without directions
    double elevation_degrees = 0;  ///< NaN without directions
    double statistic = 0;          ///< at the interpolated position
    int detections = 0;
};

struct MergedDetections {
    std::vector<EstimatedTarget> targets;  ///< strongest first
    std::vector<int> target_of;            ///< of each detection
};

/// Merges detections across side lobes. From the strongest on, a detection B belongs to an earlier
/// target A at most one range cell away if the output of B's adapted filter is at most 6 dB above
/// what that filter shows of A's wave (libstap/README.md, "Targets"); of several, to that of which
/// it shows most. Otherwise it is a new target. Filters are those of the run, but for block
/// training without the cell under test in their covariance, as the detectors have it: a block's
/// own weights cancel the target that they train on.
///
/// A position is that of the peak of a parabola through 10 log10(statistic) of the strongest
/// detection and its neighbours, along range, Doppler (wrapping), azimuth and elevation, at most
/// half way to a neighbour. There is no interpolation at an end, at a neighbour whose statistic is
/// not positive and finite, and where the statistic is no maximum. `statistic` adds what the
/// parabolas rise.
///
/// `problem`, `steering` [D][n], `cube` and `results` (only statistic and, with
/// Precision::automatic, attempt) are those of the run, or of all runs of parts of the vectors.
/// `detections` are strongest first, as from find_detections. With directions, `steering` is
/// steering_vectors of them. Throws core::InvalidArgument for a problem without detector, for views
/// and a grid that do not fit it, and for detections outside of it or in another order.
/// Synchronous; allocates a Doppler-domain cube if `cube` holds pulses.
MergedDetections merge_detections(core::Cpu& cpu, const Problem& problem,
                                  core::View<const cfloat, 2, core::Host> steering,
                                  const DirectionGrid& grid, CubeView<core::Host> cube,
                                  const Results<core::Host>& results,
                                  const std::vector<Detection>& detections);

/// What a detector found in a cube.
struct Findings {
    std::vector<Detection> detections;  ///< strongest first
    std::vector<bool> loaded;           ///< of each detection: its covariance has automatic loading
    MergedDetections merged;
};

/// find_detections and merge_detections of a run's results; empty without a detector.
Findings find_targets(core::Cpu& cpu, const Problem& problem, double pfa,
                      core::View<const cfloat, 2, core::Host> steering, const DirectionGrid& grid,
                      CubeView<core::Host> cube, const Results<core::Host>& results);

}  // namespace aperture::stap
