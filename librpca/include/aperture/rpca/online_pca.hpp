// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/owned.hpp"
#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// Number of first frames whose median a background begins with: enough for moving objects to leave
/// their places.
inline constexpr index_t usual_burn_in = 100;

struct OnlineParameters {
    /// Huber threshold, in units of the frames: larger deviations from the background are sparse.
    double clip = 5;
    /// Age in frames at which a frame's weight is 1/e of the newest one's.
    double memory = 50;
    /// The same for foreground, which becomes background by about clip / patience a frame.
    double patience = 2000;
};

/// Throws core::InvalidArgument if a parameter is out of range.
void validate(const OnlineParameters& parameters);

/// Background of a stream of frames, in memory that does not grow with their number: online robust
/// PCA of rank one (Feng, Xu & Yan 2013, algorithm 1) with exponential forgetting. More columns
/// would adapt to objects that stop or keep returning to one place.
///
/// The background of a frame z is c u with the current basis u. The coefficient c, the light,
/// minimises the Huber loss of z - c u with threshold `clip`. u is then updated to fit all frames
/// so far without their sparse parts and, but for `patience`, without the foreground of their
/// masks: an object that stops stays foreground. Results are bitwise identical for every number of
/// threads.
///
/// Foreground that is no object becomes background after `ghost_frames`: a region that in the
/// background differs more from what is around it than in the frame, since an object has left the
/// place; and all of it if it covers more than half of the picture, after a cut.
class OnlinePca {
  public:
    using Frame = core::View<const float, 1, core::Host>;
    using Part = core::View<float, 1, core::Host>;
    using Mask = core::View<const std::uint8_t, 2, core::Host>;

    static constexpr int ghost_frames = 50;

    /// `cpu` must outlive the object. Throws core::InvalidArgument if frames have no values and as
    /// `validate` does.
    OnlinePca(core::Cpu& cpu, index_t values, const OnlineParameters& parameters);

    /// Resets the state and starts from a background. Throws core::InvalidArgument for another
    /// size, a NaN or an infinity.
    void begin(Frame background);

    /// Writes the background of the next frame. Values are contiguous. Allocates nothing. Throws
    /// core::InvalidArgument before `begin`, for a frame of another size, and for a NaN or an
    /// infinity; the state is then unchanged.
    void next(Frame frame, Part background);

    /// Learns from the frame of the last `next`, whose values are [channel][row][column], and its
    /// foreground, with the shadows and light of `find_masks`, which is not 0 [row][column]. Empty:
    /// there is none. Allocates only for the first
    /// mask. Throws core::InvalidArgument without a frame and for a mask of another size.
    void learn(Mask foreground);

  private:
    struct State;
    core::Owned<State> state_;
};

}  // namespace aperture::rpca
