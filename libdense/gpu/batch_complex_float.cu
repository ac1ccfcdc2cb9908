// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/batch.cuh"

APERTURE_BATCH(std::complex<float>)
