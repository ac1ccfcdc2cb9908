// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/compilation_counts.hpp"

namespace aperture::core {

/// Adds to compilation_counts(). Thread-safe.
void count_compilation(const CompilationCounts& more);

}  // namespace aperture::core
