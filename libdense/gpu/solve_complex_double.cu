// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/solve_instances.cuh"

APERTURE_SOLVE(std::complex<double>)
