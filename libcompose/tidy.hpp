// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "aperture/compose/operation.hpp"

namespace aperture::compose {

/// Makes of what a front end appended, call by call, what one would write: calls in the order of
/// operands, no copies that nobody needs, and names for symbols that have none. All local symbols
/// other than `variables` are results of one call.
Program tidied(Program program, const Registry& registry, const std::set<SymbolId>& variables);

}  // namespace aperture::compose
