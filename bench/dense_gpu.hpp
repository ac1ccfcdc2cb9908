// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Batches of small problems on a GPU, beside cuBLAS and cuSOLVER.
void register_dense_gpu();

}  // namespace aperture::bench
