// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace aperture::core {

/// Bytes of main memory that can still be taken without swapping: what the kernel estimates, and no
/// more than the control groups of the process leave it. Nothing where the system does not say.
std::optional<std::size_t> available_memory();

}  // namespace aperture::core
