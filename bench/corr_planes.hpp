// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers computing an image's planes, "planes/..." and, if there is a GPU, "gpu/planes/...".
void register_planes();

}  // namespace aperture::bench
