// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers robust PCA of frames in GPU memory, "gpu/...", if there is a GPU.
void register_gpu();

}  // namespace aperture::bench
