// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::core {

/// Adds one to waits_for_gpu(); for everything that waits.
void count_wait_for_gpu();

}  // namespace aperture::core
