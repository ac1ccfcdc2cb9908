// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/compose/plan.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {

/// What is wrong with a program; "nothing" if it can be planned.
inline std::string refusal(const std::string& text, const Registry& registry = Registry()) {
    try {
        plan(parse(text), registry, Fusion::thesis);
    } catch (const core::InvalidArgument& error) {
        return error.what();
    }
    return "nothing";
}

}  // namespace aperture::compose
