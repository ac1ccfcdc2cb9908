// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// QR of tall matrices that lie on a GPU, "gpu/...", beside cuSOLVER's geqrf, where there is one.
void register_gpu();

}  // namespace aperture::bench
