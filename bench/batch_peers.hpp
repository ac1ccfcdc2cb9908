// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Batches of small problems on a CPU: "cpu/TASK", "cpu/TASK@interleaved", and beside them
/// "cpu/eigen_TASK", "cpu/eigen_fixed_TASK" and "cpu/lapack_TASK".
void register_batches();

}  // namespace aperture::bench
