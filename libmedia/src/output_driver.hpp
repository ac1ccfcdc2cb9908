// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// Write status of one output file.
struct OutputStatus {
    int descriptor;
    std::size_t waiting = 0;  ///< see start_write_back
    int error = 0;            ///< errno of the first write that failed
    bool discard = false;     ///< the file is abandoned: later writes are ignored

    bool writing() const { return error == 0 && !discard; }
};

/// HDF5 driver for files under construction: it writes to `status->descriptor` and always reports
/// success to HDF5; errors are stored in `status`. HDF5 1.10 cannot close a file after a failed
/// write and crashes at process exit. The caller keeps the descriptor; `status` must outlive the
/// file.
Handle register_output_driver();
herr_t use_output_driver(hid_t access, hid_t driver, OutputStatus* status);

}  // namespace aperture::media
