// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "aperture/core/view.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/signal/taper.hpp"
#include "aperture/stap/detector.hpp"

namespace aperture::stap {

using core::index_t;
using cfloat = std::complex<float>;

/// Meaning of a cube's second extent.
enum class Domain { pulse, doppler };

/// Extents of a radar data cube [channel][pulse or Doppler bin][range cell].
struct CubeShape {
    index_t channels = 0;     ///< L
    index_t pulses = 0;       ///< P, or K in the Doppler domain
    index_t range_cells = 0;  ///< N
    Domain domain = Domain::pulse;

    bool operator==(const CubeShape&) const = default;
};

/// The training cells of a cell under test's covariance.
enum class Training {
    block,    ///< disjoint blocks of N_R cells; a short last block trains on the last N_R cells
    sliding,  ///< a window of N_R + 2G + 1 cells that begins N_R/2 + G cells before the cell,
              ///< without the cell and its guard cells; shifted inwards at the ends of the range
              ///< extent
    all,      ///< all range cells except the cell under test and its guard cells
};

/// Added to the diagonal of every covariance estimate R, a mean over training cells. Removing cells
/// later does not change the loading: Training::all loads the sum over the remaining cells with N
/// times the loading of the mean over all N cells; detectors with Training::block load the sum
/// without the cell under test with N_R times the loading of the block's mean.
struct DiagonalLoading {
    double value = 0;
    bool relative = false;  ///< times trace(R)/n instead of absolute

    bool operator==(const DiagonalLoading&) const = default;
};

enum class Implementation {
    fused,   ///< covariance, factorisation, solution and weighting without leaving fast memory
    staged,  ///< one pass per stage, snapshots and covariances materialised (Anderson 2014, ch. 4)
    cublas,  ///< batched library calls, GPU only: the baseline of the thesis
};

enum class Precision {
    automatic,  ///< fp32, and `mixed` where fp32 cannot be trusted (see attempts.hpp)
    fp32,
    mixed,  ///< covariance and solution in fp64, the rest in fp32
};

/// Parameters of a STAP run. Symbols follow the PERFECT suite and Ward 1994.
struct Parameters {
    int doppler_bins = 0;     ///< K; 0 = pulses rounded up to a power of two
    int training_block = 64;  ///< N_R, range cells; with Detector::cfar also its reference cells
    Training training = Training::block;
    int guard = 0;          ///< G, cells left out on either side of the cell under test
    int temporal_taps = 3;  ///< T, adjacent Doppler bins in a snapshot: 1, 3 or 5
    DiagonalLoading loading;
    signal::Taper taper;  ///< along pulses
    dense::Factorisation solver = dense::Factorisation::cholesky;
    Implementation implementation = Implementation::fused;
    Precision precision = Precision::automatic;
    Detector detector = Detector::none;
};

/// A validated shape and parameters, with all derived sizes.
struct Problem {
    CubeShape shape;
    Parameters parameters;
    int doppler_bins = 0;       ///< K
    int order = 0;              ///< n = L T, the length of a snapshot
    int steering_vectors = 0;   ///< D
    index_t training_sets = 0;  ///< B: ceil(N / N_R) for block, N for sliding, 1 for all
};

inline constexpr int max_steering_vectors = 1024;  ///< of a Problem
/// Of the stages that compute with weights: it bounds what their threads hold. A Pipeline computes
/// with more steering vectors in passes.
inline constexpr int max_vectors_of_run = 64;

/// Validates parameters against the cube and derives the sizes. Throws core::InvalidArgument, with
/// the values and the remedy in the text, for: an empty cube; K < P or K < T; T not 1, 3 or 5; n
/// above dense::max_order; D outside 1..max_steering_vectors; N_R < 1; fewer training cells than n
/// without loading (a singular estimate); a window longer than the cube; guard cells with block
/// training and no cfar; negative or non-finite loading.
Problem make_problem(const CubeShape& shape, const Parameters& parameters, int steering_vectors);

/// Begin and end of training set b, in range cells: block and all.
struct RangeSpan {
    index_t begin = 0;
    index_t end = 0;
    index_t cells() const { return end - begin; }
};
RangeSpan training_cells(const Problem& problem, index_t training_set);

/// The training set that a range cell belongs to.
index_t training_set_of(const Problem& problem, index_t range_cell);

/// The window and the excluded cells [cell - G, cell + G] of a cell under test, both clipped to the
/// cube: sliding and all. The training cells are `window` without `excluded`.
struct TrainingWindow {
    RangeSpan window;
    RangeSpan excluded;
    index_t cells() const { return window.cells() - excluded.cells(); }
};
TrainingWindow training_window(const Problem& problem, index_t range_cell);

/// The reference cells of Detector::cfar for a cell under test, with any training: the window of
/// sliding training.
TrainingWindow reference_window(const Problem& problem, index_t range_cell);

/// Training cells in the detector's covariance of `range_cell` after removal of the cell under test
/// (and its guard cells), N_R - 1 for block training; for Detector::cfar, the reference cells.
index_t independent_training_cells(const Problem& problem, index_t range_cell);

/// Minimum work of the stages, for rates and bounds: floating-point operations by the usual counts
/// (4 n^2 N_R per covariance, 4/3 n^3 + 8 n^2 D per solution, 8 n D per weighted cell, 5 K log2 K
/// per transform), and bytes if each input is read once and each output written once.
struct Work {
    double gflop = 0;
    double mb = 0;
};
Work doppler_work(const Problem& problem);
Work covariance_work(const Problem& problem);
Work weights_work(const Problem& problem);
Work weighting_work(const Problem& problem);
/// The three above fused: reads the cube once, writes the output once.
Work adaptive_work(const Problem& problem);
/// Bytes that detection reads and writes. Its arithmetic is not counted.
Work detect_work(const Problem& problem);

/// Whether the first attempt computes covariances and weights in fp64 on a GPU: Precision::mixed,
/// and automatic with training on all cells, whose one factorisation per Doppler bin is cheap.
bool starts_in_fp64(const Problem& problem);

/// Device memory in bytes that a Pipeline on a GPU holds once it has run, beside its caller's cube
/// and results: the cube after the Doppler transform, steering vectors, sums over all cells, and
/// what is between separate stages. Workspace of the libraries it calls (cuFFT, cuBLAS) is not
/// counted.
index_t workspace_bytes(const Problem& problem);

}  // namespace aperture::stap
