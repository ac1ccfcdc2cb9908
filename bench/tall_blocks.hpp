// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

/// Kernels of tall QR on a GPU under choices that the library has made.
namespace aperture::bench {

/// Reflectors applied to `blocks` blocks in the ways of block_policies.cuh: 1 to 4, as Anderson
/// 2014 numbers them. Seconds of the fastest of a few runs.
double seconds_of_policy(core::Gpu& gpu, int approach, int blocks);
/// Flops of a block.
double policy_flops();

/// R of a matrix whose trees have blocks of so many groups of 32 rows: 5, 7, 11 or 15. Seconds of
/// the fastest of a few runs.
double seconds_of_tree(core::Gpu& gpu, int groups, core::View<const float, 2, core::Device> a);

/// That the library's trees of so many rows are of.
int groups_of_library(core::index_t rows);

}  // namespace aperture::bench
