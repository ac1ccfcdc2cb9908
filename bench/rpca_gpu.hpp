// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Robust PCA of frames that lie on a GPU, "gpu/...", where there is one.
void register_gpu();

}  // namespace aperture::bench
