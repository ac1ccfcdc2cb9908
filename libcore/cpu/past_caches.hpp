// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace aperture::core {

/// Copies bytes past the caches, which would read every line before it is replaced. Lines of which
/// only a part is stored go through the caches.
inline void copy_past_caches(const void* from, std::size_t bytes, void* to) {
    const auto* source = static_cast<const char*>(from);
    auto* target = static_cast<char*>(to);
#if defined(__SSE2__)
    constexpr std::size_t line = 64;
    const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(target) % line);
    std::memcpy(target, source, head);
    source += head;
    target += head;
    bytes -= head;
    for (; bytes >= line; bytes -= line, source += line, target += line) {
        for (int part = 0; part < 64; part += 16) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(target + part),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + part)));
        }
    }
#endif
    std::memcpy(target, source, bytes);
}

/// Makes what this thread stored past the caches visible to others.
inline void complete_stores() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

}  // namespace aperture::core
