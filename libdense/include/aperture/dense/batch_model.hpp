// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <vector>

#include "aperture/dense/batch.hpp"

/// How long a GPU takes for a batch of small problems, predicted from properties of the device and
/// counts of operations. Source: Anderson 2014, sections 4.2, 4.4 and 4.5.
namespace aperture::dense {

/// Latencies in cycles of operations that wait for one another, in one real type.
struct ArithmeticParameters {
    double multiply_add = 0;  ///< gamma
    double division = 0;
    double square_root = 0;
    double reciprocal_root = 0;
    double multiply_adds_a_cycle = 0;  ///< that a multiprocessor begins, in all its threads
};

/// How long a block of so many threads takes for a barrier.
struct BarrierParameter {
    int threads = 0;
    double cycles = 0;
};

/// A GPU: latencies in cycles, bandwidths of the whole device in GB/s. The functions below throw
/// core::InvalidArgument if a rate or bandwidth that they need is 0.
struct DeviceParameters {
    double global_latency = 0;               ///< alpha_glb
    double global_bandwidth = 0;             ///< 1 / beta_glb, reads plus writes
    double shared_latency = 0;               ///< alpha_sh
    double shared_bandwidth = 0;             ///< 1 / beta_sh
    std::vector<BarrierParameter> barriers;  ///< alpha_sync, by ascending number of threads
    ArithmeticParameters fp32;
    ArithmeticParameters fp64;
    double clock_ghz = 0;
    int multiprocessors = 0;
    double launch_us = 0;  ///< between the beginnings of two kernels that do nothing
    // What a multiprocessor has for blocks.
    int registers = 0;
    int shared_bytes = 0;
    int warps = 64;
    int blocks = 32;
};

/// Cycles of a barrier, linear between the numbers of threads that were measured.
double barrier_cycles(const DeviceParameters& device, int threads);

/// What the model counts of an element's type.
struct ElementType {
    int bytes;
    bool complex;
};
template <Scalar T>
inline constexpr ElementType element_type{sizeof(T), !std::same_as<T, Real<T>>};

/// One problem of a batch, with the numbers of ProblemSize that it takes.
enum class BatchOperation {
    dot,           ///< of two vectors of n elements
    gemv,          ///< y = A x, A of m x n
    gemm,          ///< C = A B, A of m x k and B of k x n
    cholesky,      ///< of n x n, of which one triangle is read and written
    lu,            ///< of n x n in place
    qr,            ///< of m x n, m >= n, in place
    solve,         ///< A X = B by Cholesky: one triangle of n x n, and k right-hand sides in place
    gauss_jordan,  ///< the same of a general A
    invert,        ///< of n x n in place
};

struct ProblemSize {
    core::index_t m = 0;
    core::index_t n = 0;
    core::index_t k = 0;
};

/// Real operations, and bytes of device memory, each of which is read or written once.
struct Work {
    double flops = 0;
    double bytes = 0;
};

/// The work of one problem: the terms of highest order; for complex elements four times the flops.
Work work_of(BatchOperation operation, const ProblemSize& size, const ElementType& element);

/// Seconds of a kernel that has one problem in a thread's registers: arithmetic takes no time, and
/// the device's bandwidth is all that counts (section 4.4).
double predict_in_thread(const DeviceParameters& device, const Work& work, core::index_t problems);

/// What a thread does, one after the other, while its block factors a problem.
struct BlockCounts {
    double multiply_adds = 0;
    double divisions = 0;
    double square_roots = 0;
    double reciprocal_roots = 0;
    double shared_accesses = 0;
    double barriers = 0;
};

BlockCounts operator+(const BlockCounts& a, const BlockCounts& b);

/// The three operations of a column of a factorisation.
struct StepCounts {
    BlockCounts column;   ///< finds the column's factors, and shares them
    BlockCounts product;  ///< of the reflector with the columns behind it, for QR
    BlockCounts update;   ///< of rank 1
};

/// The counts of Table 4.4 for columns [first, last) of a matrix of m x n, m >= n, distributed 2-D
/// cyclically over `threads` threads, a square number. `operation` is lu (without pivoting), qr
/// (Householder) or cholesky; the table has no Cholesky: README.md says what is counted. Throws
/// core::InvalidArgument for other operations and numbers.
StepCounts step_counts(BatchOperation operation, const ProblemSize& size, int threads,
                       const ElementType& element, core::index_t first, core::index_t last);
/// Their sum for all columns.
BlockCounts block_counts(BatchOperation operation, const ProblemSize& size, int threads,
                         const ElementType& element);

/// Cycles of so many operations, each of which waits for the one before.
double cycles_of(const DeviceParameters& device, const BlockCounts& counts, int threads,
                 const ElementType& element);

struct BlockPrediction {
    double load = 0;  ///< cycles of a block, as are the next two
    double compute = 0;
    double store = 0;
    double seconds = 0;  ///< of the whole batch with its launch
};

/// A batch of which a block factors one problem at a time, with `blocks` of them on a
/// multiprocessor (core::occupancy). A block loads, computes and stores one after the other, and as
/// many blocks as the device holds start together; no part of the device does more than it can.
BlockPrediction predict_in_block(const DeviceParameters& device, BatchOperation operation,
                                 const ProblemSize& size, int threads, const ElementType& element,
                                 int blocks, core::index_t problems);

/// What libdense's own kernels do for one matrix, not those of the thesis.
struct KernelWork {
    double instructions = 0;  ///< that warps issue
    double chain = 0;         ///< cycles of a matrix that has the multiprocessor to itself
    double resident = 0;      ///< matrices on a multiprocessor
};

/// Of square matrices of order 1 to 128 and operation lu (without pivoting), qr or cholesky, as the
/// library maps them to threads. Constants are fitted to measurements.
KernelWork kernel_work(const DeviceParameters& device, BatchOperation operation,
                       core::index_t order, const ElementType& element);

/// Seconds of the library's function on so many matrices, concatenated, of three times that overlap
/// in part, as the root of the sum of their squares: the bytes at the device's bandwidth, the
/// instructions of all, and rounds of as many matrices as are resident, one after the other.
double predict_factors(const DeviceParameters& device, BatchOperation operation,
                       core::index_t order, const ElementType& element, core::index_t problems);

}  // namespace aperture::dense
