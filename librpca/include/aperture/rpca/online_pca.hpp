// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/owned.hpp"
#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// Number of first frames for OnlinePca::begin: enough for moving objects to leave their places.
inline constexpr index_t usual_burn_in = 100;

struct OnlineParameters {
    /// Maximum rank of the background, including its constant part; up to 16. Columns that
    /// illumination does not need adapt to objects that keep returning to one place.
    index_t rank = 2;
    /// Huber threshold, in units of the frames: larger deviations from the background are sparse.
    double clip = 5;
    /// Age in frames at which a frame's weight is 1/e of the newest one's.
    double memory = 50;
    int sweeps = 5;  ///< of the robust regression for a frame's coefficients
};

/// Throws core::InvalidArgument if a parameter is out of range.
void validate(const OnlineParameters& parameters);

/// Background of a stream of frames, in memory that does not grow with their number: online robust
/// PCA (Feng, Xu & Yan 2013, algorithm 1) with exponential forgetting, initialised by the batch
/// solution of the first frames.
///
/// The background of a frame z is U c with the current basis U. The coefficients c minimise the
/// Huber loss of z - U c with threshold `clip`. U is then updated to fit all frames so far without
/// their sparse parts. Results are bitwise identical for every number of threads.
class OnlinePca {
  public:
    using Frame = core::View<const float, 1, core::Host>;
    using Part = core::View<float, 1, core::Host>;

    /// `cpu` must outlive the object. Throws core::InvalidArgument if frames have no values and as
    /// `validate` does.
    OnlinePca(core::Cpu& cpu, index_t values, const OnlineParameters& parameters);

    /// Resets the state, learns from all first frames together (Solver::accaltproj) and writes
    /// their backgrounds. Throws as RobustPca::run does; `begin` must then be called again.
    Outcome begin(FramesView<const float, core::Host> frames,
                  FramesView<float, core::Host> backgrounds);

    /// Writes the background and the sparse part of the next frame, and learns from it. Values are
    /// contiguous; `sparse` may be empty. Allocates nothing. Throws core::InvalidArgument before
    /// `begin`, for a frame of another size, and for a NaN or an infinity; the state is then
    /// unchanged.
    void next(Frame frame, Part background, Part sparse);

  private:
    struct State;
    core::Owned<State> state_;
};

}  // namespace aperture::rpca
