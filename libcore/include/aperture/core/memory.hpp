// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace aperture::core {

/// Bytes of main memory that can still be allocated without swapping: the kernel's estimate,
/// limited by the control groups of the process. Empty if the system does not report it.
std::optional<std::size_t> available_memory();

}  // namespace aperture::core
