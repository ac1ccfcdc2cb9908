// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <vector>

#include "aperture/core/view.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/simulation.hpp"

namespace aperture::stap {

/// False-alarm probability of one cell, for a caller who does not choose it.
inline constexpr double default_pfa = 1e-6;

/// The threshold that an adaptive detector's statistic (see Pipeline) exceeds with probability
/// `pfa` in a cell without a target, for Gaussian data of any covariance, without loading.
///
/// `cells` is the number J of training cells, n the order. With beta ~ Beta(J-n+2, n-1) the loss
/// factor: AMF: pfa = E[(1 + beta t / J)^-(J-n+1)] (Robey et al. 1992); GLRT: pfa =
/// (1-t)^(J-n+1) (Kelly 1986); ACE: pfa = E[(1 + (1-beta) t/(1-t))^-(J-n+1)] (Kraut & Scharf 1999).
/// Throws core::InvalidArgument for pfa outside (0, 1), J < n, n < 1, ACE of order 1 (it is 1 in
/// every cell), or another detector.
double detection_threshold(Detector detector, double pfa, index_t cells, int order);

/// The threshold of every range cell of a problem, without loading. For adaptive detectors:
/// detection_threshold.
///
/// CFAR: g J (pfa^(-f/J) - 1) with J reference cells. The factors f and g correct for weights that
/// vary from cell to cell and are trained on the cells themselves. f is 1 for n = 1, otherwise it
/// comes from a table over training, n, N_R/n and guard cells; g is 1 except near the ends of the
/// range extent. The rate is within 10 % of pfa down to 1e-4, averaged over the cells of a training
/// block; libstap/README.md gives the accuracy below. Throws core::InvalidArgument as above, and
/// for N_R < 2n.
std::vector<double> detection_thresholds(const Problem& problem, double pfa);

/// A local maximum of the statistic above the threshold.
struct Detection {
    int steering_vector = 0;
    int doppler_bin = 0;
    index_t range_cell = 0;
    double statistic = 0;
    double threshold = 0;
};

/// Cells with a statistic [D][K][N] above the threshold of their cell that is the largest among its
/// neighbours over steering (adjacent, not wrapping), Doppler (adjacent, wrapping) and range
/// (adjacent), strongest first. A target spread over neighbouring cells therefore counts once.
///
/// The steering vectors may be a grid [elevation][azimuth] with `row_length` azimuths in a row; 0:
/// one row. Neighbours over steering are then adjacent in azimuth, in elevation or in both. Throws
/// core::InvalidArgument for a statistic of other extents, for a row length that does not divide
/// the number of steering vectors, and as detection_thresholds.
std::vector<Detection> find_detections(const Problem& problem, double pfa,
                                       core::View<const float, 3, core::Host> statistic,
                                       int row_length = 0);

/// What find_detections returns for `pfa`, from the `detections` that it returned for a larger one:
/// whether a cell is the largest of its neighbours does not depend on the threshold.
std::vector<Detection> detections_at(const Problem& problem, double pfa,
                                     const std::vector<Detection>& detections);

/// The Doppler bin of K = `bins` whose centre is nearest to `doppler`, cycles per pulse, -0.5 ..
/// 0.5.
int nearest_doppler_bin(double doppler, int bins);

/// The centre of a Doppler bin in cycles per pulse, -0.5 <= f < 0.5.
inline double doppler_of_bin(int bin, int bins) {
    const int signed_bin = bin < (bins + 1) / 2 ? bin : bin - bins;
    return static_cast<double>(signed_bin) / bins;
}

/// Detections compared with planted targets.
struct DetectionScore {
    std::vector<bool> found;  ///< of each target
    index_t found_targets = 0;
    index_t false_detections = 0;

    /// 2 found / (2 found + missed + false), from 0 to 1; NaN without targets.
    double f_measure() const {
        if (found.empty()) return std::numeric_limits<double>::quiet_NaN();
        const auto hits = static_cast<double>(found_targets);
        const auto others = static_cast<double>(index_t(found.size()) + false_detections);
        return 2 * hits / (hits + others);
    }
};

/// A detection belongs to a target that is at most one range cell and one Doppler bin away;
/// Doppler bins wrap, and steering vectors do not matter. A target is found if a detection belongs
/// to it. A detection that belongs to no target is false.
DetectionScore score_detections(const std::vector<Detection>& detections,
                                const std::vector<Target>& targets, int doppler_bins);

}  // namespace aperture::stap
