// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "aperture/compose/plan.hpp"

namespace aperture::compose {

/// All calls of a program, by their addresses.
using PlannedCalls = std::map<const Call*, PlannedCall>;

/// Validates a program: results have the types that operations give them; nothing that is known or
/// an input is overwritten; no result is an operand of which neighbours are read; symbols have
/// values before they are read; loops end. Throws InvalidArgument with line and column.
PlannedCalls check(const Program& program, const Registry& registry);

}  // namespace aperture::compose
