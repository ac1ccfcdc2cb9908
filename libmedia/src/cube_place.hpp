// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/media/cube_file.hpp"
#include "libmedia/src/stored_dataset.hpp"

// Which datasets of a file are the cube.
namespace aperture::media {

inline constexpr const char* default_dataset = "/cube";
/// Of a cube: channel, pulse, range, and the CPI if there are several.
inline constexpr StoredDataset::Ranks cube_ranks{3, 4};

/// Where the samples of a cube are: in one dataset of complex numbers; in two of real numbers; or
/// in the halves of one, whose first extent is 2.
struct CubePlace {
    std::string real;
    std::string imag{};  ///< empty for complex numbers
    bool halves() const { return real == imag; }
    std::string text() const { return imag.empty() || halves() ? real : real + " + " + imag; }
};

/// `path` is a dataset, or a group with the datasets real and imag or other names of such parts.
CubePlace place_of(hid_t file, const std::string& path);

/// The path of the requested dataset, else /cube, else the only cube. Throws core::InvalidArgument
/// with a list of the datasets if there is no such one.
std::string choose_dataset(hid_t file, const CubeRequest& request);

}  // namespace aperture::media
