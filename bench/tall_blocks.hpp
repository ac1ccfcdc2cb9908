// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

/// Kernels of tall QR on a GPU, for comparing the library's choices with alternatives.
namespace aperture::bench {

/// Applies reflectors to `blocks` blocks by one of the policies in block_policies.cuh, numbered 1
/// to 4 as in Anderson 2014. Seconds of the fastest of several runs.
double seconds_of_policy(core::Gpu& gpu, int approach, int blocks);
/// Flops per block.
double policy_flops();

/// Computes R with trees of blocks of `groups` groups of 32 rows: 5, 7, 11 or 15. Seconds of the
/// fastest of several runs.
double seconds_of_tree(core::Gpu& gpu, int groups, core::View<const float, 2, core::Device> a,
                       core::View<float, 2, core::Device> r);

/// The same column by column.
double seconds_of_columns(core::Gpu& gpu, core::View<const float, 2, core::Device> a,
                          core::View<float, 2, core::Device> r);

/// The library's number of groups per block for trees of `rows` rows.
int groups_of_library(core::index_t rows);

}  // namespace aperture::bench
