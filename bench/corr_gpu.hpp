// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Correlations of planes that lie on a GPU, "gpu/...", where there is one.
void register_gpu();

/// Prints which method was faster for each problem of "gpu/grid/..." that was run with both.
void compare_gpu_methods();

}  // namespace aperture::bench
