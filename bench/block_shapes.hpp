// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

/// How a block's number of threads and its shape matter. Source: Ha et al. 2013, Tables I and II.
namespace aperture::bench {

/// y += 2 x on vectors, each of which is one block's, in fp64.
double axpy_seconds(core::Gpu& gpu, int threads);
double axpy_bytes();

/// Copies 256 matrices of 128 x 128, each of which is one block's: 128 threads, `in_a_row` of them
/// beside one another in a row.
template <class T>
double copy_seconds(core::Gpu& gpu, int in_a_row);
template <class T>
double copy_bytes();

}  // namespace aperture::bench
