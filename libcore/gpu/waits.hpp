// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "aperture/core/executor.hpp"

namespace aperture::core {

/// Adds one to waits_for_gpu(); for everything that waits.
void count_wait_for_gpu();

/// Waits until all work before an event of the executor's stream is done, with the executor's
/// checkpoints; throws DeviceError if any of it failed.
void wait_for_event(Gpu& gpu, cudaEvent_t event);

}  // namespace aperture::core
