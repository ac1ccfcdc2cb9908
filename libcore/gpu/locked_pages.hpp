// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::core {

/// Pages for asynchronous copies. With the SIMT host executor the device is the host.
template <class Space>
constexpr Pages locked_pages() {
    return std::is_same_v<Space, Host> ? Pages::pageable : Pages::locked;
}

/// Whether the host memory of a caller is locked, at least in its first and last page. Defined in
/// builds with CUDA.
bool has_locked_pages(Gpu& gpu, const void* first, std::size_t bytes);
template <class Executor>
bool has_locked_pages(Executor&, const void*, std::size_t) {
    return false;
}

}  // namespace aperture::core
