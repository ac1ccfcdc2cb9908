// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The members of Registration for all executors, whose SpectrumPasses must be defined.

#include <memory>
#include <optional>

#include "aperture/core/shape.hpp"
#include "libsignal/similarity_search.hpp"

namespace aperture::signal {

template <class Executor>
class Registration<Executor>::State {
  public:
    State(Executor& executor, const core::Extents<2>& extent, Motion motion) : extent_(extent) {
        const index_t least = motion == Motion::shift ? 8 : 64;
        core::expects(extent[0] >= least && extent[1] >= least, "registration: images of ",
                      core::extents_text(extent), " pixels, at least ", least, " x ", least,
                      " are required");
        if (motion == Motion::shift) {
            shift_.emplace(executor, extent);
        } else {
            similarity_.emplace(executor, extent);
        }
    }

    Alignment run(const Image& a, const Image& b) {
        core::expects_shape("registration: image a", a, extent_, core::Strides::unit_last);
        core::expects_shape("registration: image b", b, extent_, core::Strides::unit_last);
        return shift_ ? shift_->run(a, b) : similarity_->run(a, b);
    }

  private:
    core::Extents<2> extent_;
    std::optional<ShiftSearch<Executor>> shift_;
    std::optional<SimilaritySearch<Executor>> similarity_;
};

template <class Executor>
Registration<Executor>::Registration(Executor& executor, core::Extents<2> extent, Motion motion)
    : state_(core::owned(std::make_unique<State>(executor, extent, motion))) {}

template <class Executor>
Alignment Registration<Executor>::run(Image a, Image b) {
    return state_->run(a, b);
}

}  // namespace aperture::signal
