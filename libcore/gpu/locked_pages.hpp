// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "aperture/core/array.hpp"

namespace aperture::core {

/// Pages for asynchronous copies. With the SIMT host executor the device is the host.
template <class Space>
constexpr Pages locked_pages() {
    return std::is_same_v<Space, Host> ? Pages::pageable : Pages::locked;
}

}  // namespace aperture::core
