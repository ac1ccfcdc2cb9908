// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::media {

inline constexpr int lzf_number = 32000;

/// Lets HDF5 read datasets that h5py has compressed with its own filter "lzf" (number 32000). HDF5
/// has no such filter, and its plugins are rarely installed.
void register_lzf_filter();

}  // namespace aperture::media
