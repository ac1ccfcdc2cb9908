// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/library_versions.hpp"

#include <hdf5.h>
#if APERTURE_OPENCV
#include <opencv2/core/version.hpp>
#endif

#if APERTURE_CAIRO
#include <cairo-version.h>
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
#if APERTURE_CAIRO
    const std::string cairo = core::text("Cairo ", CAIRO_VERSION_MAJOR, '.', CAIRO_VERSION_MINOR,
                                         '.', CAIRO_VERSION_MICRO);
#else
    const std::string cairo = "no Cairo";
#endif
    return core::text("HDF5 ", major, '.', minor, '.', release, ", ", cairo, ", ", opencv);
}

}  // namespace aperture::media
