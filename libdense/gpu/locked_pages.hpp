// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "aperture/core/array.hpp"

namespace aperture::dense::gpu {

/// Pages for asynchronous copies. With the SIMT host executor the device is the host.
template <class Space>
constexpr core::Pages locked_pages() {
    return std::is_same_v<Space, core::Host> ? core::Pages::pageable : core::Pages::locked;
}

}  // namespace aperture::dense::gpu
