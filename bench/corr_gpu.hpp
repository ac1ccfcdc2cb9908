// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers correlations of planes in GPU memory, "gpu/...", if there is a GPU.
void register_gpu();

/// Prints the faster method for each problem of "gpu/grid/..." that was run with both.
void compare_gpu_methods();

}  // namespace aperture::bench
