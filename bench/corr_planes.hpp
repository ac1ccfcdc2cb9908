// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Planes of an image before they are correlated, "planes/..." and, where there is one,
/// "gpu/planes/...".
void register_planes();

}  // namespace aperture::bench
