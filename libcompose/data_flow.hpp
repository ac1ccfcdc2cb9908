// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <vector>

#include "aperture/compose/program.hpp"

namespace aperture::compose {

using SymbolSet = std::set<SymbolId>;

/// Symbols whose values before, and after, a call are read later.
struct Live {
    SymbolSet before;
    SymbolSet after;
};

/// The live symbols of all calls, by the call's address; results of in-place symbols are live at
/// the end. Source: Anderson 2014, section 5.8; the iterative analysis of live variables.
std::map<const Call*, Live> live_symbols(const Program& program);

/// What is live before one of a program's top-level statements, by their numbers.
std::vector<SymbolSet> live_before_statements(Program program);

}  // namespace aperture::compose
