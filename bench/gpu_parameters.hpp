// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/dense/batch_model.hpp"

namespace aperture::bench {

/// Measures what the model of batches asks of a device (Anderson 2014, Table 4.2), in about a
/// second. Needs a gigabyte of device memory; less makes the global latency partly that of the
/// cache.
dense::DeviceParameters measure_gpu_parameters(core::Gpu& gpu);

}  // namespace aperture::bench
