// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers QR of tall matrices in GPU memory, "gpu/...", and cuSOLVER's geqrf, if there is a GPU.
void register_gpu();

}  // namespace aperture::bench
