// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <cstddef>

namespace aperture::media {

/// Call after `bytes` were written; `waiting` counts those since the last effect and starts at 0.
/// Lets the system write to the disk while the program goes on, so that little is left to wait for
/// when the file must be durable. By itself it would begin half a minute later.
inline void start_write_back(int descriptor, std::size_t bytes, std::size_t& waiting) {
    constexpr std::size_t worth_a_call = 8 << 20;
    waiting += bytes;
    if (waiting < worth_a_call) return;
    waiting = 0;
    constexpr off_t to_the_end = 0;
    ::sync_file_range(descriptor, 0, to_the_end, SYNC_FILE_RANGE_WRITE);
}

}  // namespace aperture::media
