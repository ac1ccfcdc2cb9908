// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/library_versions.hpp"

#include <hdf5.h>
#if APERTURE_OPENCV
#include <opencv2/core/version.hpp>
#endif

#include "aperture/core/error.hpp"

namespace aperture::media {

std::string library_versions() {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    H5get_libversion(&major, &minor, &release);
#if APERTURE_OPENCV
    constexpr auto opencv = "OpenCV " CV_VERSION;
#else
    constexpr auto opencv = "no OpenCV";
#endif
    return core::text("HDF5 ", major, '.', minor, '.', release, ", ", opencv);
}

}  // namespace aperture::media
