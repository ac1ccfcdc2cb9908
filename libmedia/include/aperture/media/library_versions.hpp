// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace aperture::media {

/// The libraries that read and write files, "HDF5 1.10.8, Cairo 1.16.0, OpenCV 4.6.0".
std::string library_versions();

}  // namespace aperture::media
