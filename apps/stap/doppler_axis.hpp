// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::apps {

/// The bin of map row `row`; rows start at the most negative Doppler.
inline int bin_of_row(int row, int bins) { return (row + (bins + 1) / 2) % bins; }
/// Position of a bin along the Doppler axis of the results.
inline int stored_bin(bool fftshift, int bin, int bins) {
    return fftshift ? (bin + bins / 2) % bins : bin;
}

}  // namespace aperture::apps
