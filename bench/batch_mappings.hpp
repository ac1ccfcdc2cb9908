// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

/// Mappings of gemv, gemm and Cholesky factors to a GPU that are not the library's. Source: Ha et
/// al. 2013, sections III-D and III-E.4.
namespace aperture::bench {

using core::index_t;

enum class MappedFunction { gemv, gemm, cholesky };
enum class OtherMapping {
    interleaved_groups,  ///< 4 threads a problem, of interleaved batches
    walk,                ///< a block goes through the parts of its problem
    grid                 ///< a block has one part of every problem
};

/// Parts are rows or squares of this side.
inline constexpr int mapped_tile = 32;
inline constexpr int mapped_threads = 256;
inline constexpr int mapped_bytes =
    2 * mapped_tile * (mapped_tile + 1) * static_cast<int>(sizeof(float));

/// Operands in the device's memory, of matrices of n x n: a, b and c as [problem][n][n], or
/// [n][n][problem] where they are interleaved; x and y as [problem][n].
struct MappedProblems {
    const float* a;
    const float* b;  ///< of gemm
    const float* x;  ///< of gemv
    float* c;        ///< A B, or at first A (but in interleaved groups) and then its factor
    float* y;        ///< A x
    int n;
    index_t problems;
};

void run_mapped(core::Gpu& gpu, MappedFunction function, OtherMapping mapping,
                const MappedProblems& on);

}  // namespace aperture::bench
