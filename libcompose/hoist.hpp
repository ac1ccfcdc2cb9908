// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "aperture/compose/operation.hpp"

namespace aperture::compose {

/// The program of a sweep with calls before a loop that compute the same each time and for all
/// values of these inputs: those that take longer than to load their results, and what they need.
/// It may compute what no run of the loop does. Loops that are in branches stay as they are.
Program hoisted(Program program, const Registry& registry, std::span<const std::string> parameters);

}  // namespace aperture::compose
