// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace aperture::core {

/// Bytes allocated through Array since the program started, per space, including what has been
/// released since. For tests of what is promised about workspace.
std::uint64_t host_bytes_allocated();
std::uint64_t device_bytes_allocated();

}  // namespace aperture::core
