// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// What became of the writes of one output file.
struct OutputStatus {
    int descriptor;
    int error = 0;         ///< errno of the first write that failed
    bool discard = false;  ///< the file is given up: nothing is written any more

    bool writing() const { return error == 0 && !discard; }
};

/// HDF5's driver for files under construction: it writes to `status->descriptor` and reports
/// success to HDF5 whatever happens, keeping the error in `status`. HDF5 1.10 cannot close a file
/// that it fails to write, and crashes at the end of the program that has such a file. The
/// descriptor stays the caller's; `status` must outlive the file.
Handle register_output_driver();
void use_output_driver(hid_t access, hid_t driver, OutputStatus* status);

}  // namespace aperture::media
