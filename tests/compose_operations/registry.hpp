// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/operation.hpp"
#include "aperture/compose_operations/flow.hpp"
#include "aperture/compose_operations/stap.hpp"

namespace aperture::compose {

/// The operations of all libraries.
inline const Registry& registry() {
    static const Registry all = [] {
        Registry made;
        add_flow(made);
        add_stap(made);
        return made;
    }();
    return all;
}

}  // namespace aperture::compose
