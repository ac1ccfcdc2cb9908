// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace aperture::apps {

/// Bytes that a program can take without others, or the group of processes that it is in, running
/// short; nothing where the system does not say.
std::optional<std::int64_t> free_memory();

}  // namespace aperture::apps
