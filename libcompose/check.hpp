// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "aperture/compose/operation.hpp"

namespace aperture::compose {

/// The matches of all calls of a program, by the call's address.
using Matches = std::map<const Call*, Match>;

/// Validates a program: results have the types that operations give them; nothing that is known or
/// an input is overwritten; no result is an operand of which neighbours are read; symbols have
/// values before they are read; loops end. Throws InvalidArgument with line and column.
Matches check(const Program& program, const Registry& registry);

}  // namespace aperture::compose
