// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

struct OnlineParameters {
    /// Most that the background may have, its constant part included; up to 16. What the light does
    /// not need is taken by what comes again and again at the same place.
    index_t rank = 2;
    /// By how much a value that differs from the background may pull it, in the units of the
    /// frames: what differs by more is sparse.
    double clip = 5;
    /// Frames after which what was learnt from one weighs 1/e of the newest.
    double memory = 50;
    int sweeps = 5;  ///< of the robust regression that finds a frame's coefficients
};

/// Throws core::InvalidArgument for what no run could keep to.
void validate(const OnlineParameters& parameters);

/// The background of frames that come one by one, in memory that does not grow with their number:
/// online robust PCA (Feng, Xu & Yan 2013, algorithm 1), whose statistics forget, begun by the
/// batch solution of the first frames.
///
/// The background of a frame z is U c of the basis so far, with c by Huber's regression: the c that
/// sum of squares up to `clip` and of sizes beyond is least for. Then U is what explains the frames
/// so far best, without what was sparse of them. Results have the same bits for every number of
/// threads.
class OnlinePca {
  public:
    using Frame = core::View<const float, 1, core::Host>;
    using Part = core::View<float, 1, core::Host>;

    /// `cpu` must outlive it. Throws core::InvalidArgument for frames without values and as
    /// `validate` does.
    OnlinePca(core::Cpu& cpu, index_t values, const OnlineParameters& parameters);
    ~OnlinePca();
    OnlinePca(OnlinePca&&) noexcept;
    OnlinePca& operator=(OnlinePca&&) noexcept;

    /// Learns from the first frames together (Solver::accaltproj), forgets all before and writes
    /// their backgrounds. Throws as RobustPca::run does.
    Outcome begin(FramesView<const float, core::Host> frames,
                  FramesView<float, core::Host> backgrounds);

    /// Writes background and sparse part of the next frame, and learns from it. Values lie side by
    /// side; `sparse` may be empty. Allocates nothing. Throws core::InvalidArgument for a frame of
    /// another size, one that holds a NaN or an infinity, which leaves no trace, and before
    /// `begin`.
    void next(Frame frame, Part background, Part sparse);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::rpca
