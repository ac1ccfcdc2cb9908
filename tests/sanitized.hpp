// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::tests {

/// Whether this is a sanitized build, in which all takes some three times as long.
#if defined(APERTURE_SANITIZE)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace aperture::tests
