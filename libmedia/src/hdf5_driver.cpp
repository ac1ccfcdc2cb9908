// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/hdf5_driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace aperture::media {

H5FD_class_t driver_named(const char* name) {
    H5FD_class_t driver{};
#if defined(H5FD_CLASS_VERSION)
    // HDF5 1.14 registers drivers of this version only. Drivers that are not published share the
    // numbers between those of HDF5 and those it assigns.
    driver.version = H5FD_CLASS_VERSION;
    driver.value = 2 * H5_VFD_RESERVED - 1;
#endif
    driver.name = name;
    driver.maxaddr = std::numeric_limits<off_t>::max();
    driver.fc_degree = H5F_CLOSE_STRONG;
    constexpr H5FD_mem_t metadata_apart[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(metadata_apart), std::end(metadata_apart), driver.fl_map);
    return driver;
}

std::size_t read_at(int descriptor, haddr_t address, std::size_t size, void* buffer) {
    auto* const first = static_cast<char*>(buffer);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got =
            ::pread(descriptor, first + done, size - done, static_cast<off_t>(address + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

}  // namespace aperture::media
