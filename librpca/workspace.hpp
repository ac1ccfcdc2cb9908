// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

template <class T>
constexpr index_t bytes_of(index_t elements) {
    return elements * static_cast<index_t>(sizeof(T));
}

inline WorkspaceBytes operator+(const WorkspaceBytes& a, const WorkspaceBytes& b) {
    return {a.host + b.host, a.device + b.device};
}

}  // namespace aperture::rpca
