// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/error.hpp"
#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

inline void expects_problem(index_t frames, index_t values, const Parameters& parameters,
                            index_t most_frames) {
    validate(parameters);
    core::expects(frames > 0 && values > 0, "a matrix of ", values, " values of ", frames,
                  " frames is empty");
    core::expects(frames <= most_frames, frames, " frames exceed the device maximum of ",
                  most_frames);
    core::expects(parameters.svd == Svd::gram || values >= frames,
                  "a QR requires at least as many values as frames, has ", values, " and ", frames);
}

template <class T, class Space>
void expects_frames(index_t frames, index_t values, FramesView<const T, Space> m,
                    FramesView<T, Space> low_rank, FramesView<T, Space> sparse) {
    const auto fits = [&](const auto& view) {
        return view.extent[0] == frames && view.extent[1] == values && view.stride[1] == 1;
    };
    core::expects(
        fits(m) && (low_rank.empty() || fits(low_rank)) && (sparse.empty() || fits(sparse)),
        "frames must be ", frames, " x ", values, " with contiguous values");
}

/// `first` is frame * values + value of the first that is not finite.
inline void expects_finite(bool is_finite, index_t first, index_t values) {
    core::expects(is_finite, "value ", first % values, " of frame ", first / values,
                  " is not finite");
}

}  // namespace aperture::rpca
