// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_model.hpp"

#include <algorithm>
#include <cmath>

#include "aperture/core/error.hpp"
#include "libcore/rounding.hpp"

namespace aperture::dense {

namespace {

using core::expects;
using core::index_t;

/// Multiply-adds of real numbers in one of elements.
double real_products(const ElementType& element) { return element.complex ? 4 : 1; }

const ArithmeticParameters& arithmetic_of(const DeviceParameters& device,
                                          const ElementType& element) {
    return element.bytes / (element.complex ? 2 : 1) == 8 ? device.fp64 : device.fp32;
}

void expects_measured(const char* name, double value) {
    expects(value > 0, "the device's ", name, " is ", value);
}

double nanoseconds_of_transfer(const DeviceParameters& device, double bytes) {
    expects_measured("global bandwidth", device.global_bandwidth);
    return bytes / device.global_bandwidth;
}

}  // namespace

double barrier_cycles(const DeviceParameters& device, int threads) {
    const auto& known = device.barriers;
    expects(!known.empty(), "the device's barriers have not been measured");
    const auto above =
        std::find_if(known.begin(), known.end(), [&](auto& b) { return b.threads >= threads; });
    if (above == known.end()) return known.back().cycles;
    if (above == known.begin()) return above->cycles;
    const BarrierParameter& below = *(above - 1);
    return std::lerp(below.cycles, above->cycles,
                     static_cast<double>(threads - below.threads) /
                         static_cast<double>(above->threads - below.threads));
}

Work work_of(BatchOperation operation, const ProblemSize& size, const ElementType& element) {
    expects(std::min({size.m, size.n, size.k}) >= 0, "a problem of m = ", size.m, ", n = ", size.n,
            ", k = ", size.k);
    const auto m = static_cast<double>(size.m);
    const auto n = static_cast<double>(size.n);
    const auto k = static_cast<double>(size.k);
    const double cube = n * n * n;
    const double triangle = n * (n + 1) / 2;
    const auto work = [&](double flops, double elements) -> Work {
        return {real_products(element) * flops, element.bytes * elements};
    };
    switch (operation) {
        case BatchOperation::dot:
            return work(2 * n, 2 * n + 1);
        case BatchOperation::gemv:
            return work(2 * m * n, m * n + n + m);
        case BatchOperation::gemm:
            return work(2 * m * n * k, m * k + k * n + m * n);
        case BatchOperation::cholesky:
            return work(cube / 3, 2 * triangle);
        case BatchOperation::lu:
            return work(2 * cube / 3, 2 * n * n);
        case BatchOperation::qr:
            expects(size.m >= size.n, "QR of ", size.m, " x ", size.n);
            return work(2 * m * n * n - 2 * cube / 3, 2 * m * n);
        case BatchOperation::solve:
            return work(cube / 3 + 2 * n * n * k, triangle + 2 * n * k);
        case BatchOperation::gauss_jordan:
            return work(cube + 2 * n * n * k, n * n + 2 * n * k);
        case BatchOperation::invert:
            return work(2 * cube, 2 * n * n);
    }
    throw core::InvalidArgument("no such operation");
}

double predict_in_thread(const DeviceParameters& device, const Work& work, index_t problems) {
    const double bytes = work.bytes * static_cast<double>(problems);
    return 1e-6 * device.launch_us + 1e-9 * nanoseconds_of_transfer(device, bytes);
}

namespace {

/// Adds what a thread does for column j of a factorisation of rows x columns on side^2 threads.
void add_column(BatchOperation operation, index_t rows, index_t columns, index_t j, index_t side,
                StepCounts& counts) {
    // Of what is left of the matrix, a thread has so much.
    const auto high = static_cast<double>(core::ceil_div(rows - j, side));
    const auto wide = static_cast<double>(core::ceil_div(columns - j, side));
    if (operation == BatchOperation::qr) {
        // Each thread of a row or column of them adds the sums of all in it.
        const auto terms = static_cast<double>(side);
        counts.column.multiply_adds += high + terms + 2 + high;
        counts.column.square_roots += 1;
        counts.column.divisions += 2;
        counts.column.shared_accesses += 1 + terms + 2 + high;
        counts.column.barriers += 1;
        counts.product.multiply_adds += high * wide + terms;
        counts.product.shared_accesses += high + 1 + terms;
        counts.product.barriers += 2;
        counts.update.multiply_adds += high * wide;
        counts.update.shared_accesses += wide;
        counts.update.barriers += 1;
        return;
    }
    const bool cholesky = operation == BatchOperation::cholesky;
    counts.column.multiply_adds += high;
    (cholesky ? counts.column.reciprocal_roots : counts.column.divisions) += 1;
    // The factor is stored and loaded, l (and u) stored.
    counts.column.shared_accesses += 2 + high + (cholesky ? 0 : wide);
    counts.column.barriers += 2;
    counts.update.multiply_adds += cholesky ? wide * (wide + 1) / 2 : high * wide;
    counts.update.shared_accesses += high + wide;
    counts.update.barriers += 1;
}

}  // namespace

BlockCounts operator+(const BlockCounts& a, const BlockCounts& b) {
    return {a.multiply_adds + b.multiply_adds,     a.divisions + b.divisions,
            a.square_roots + b.square_roots,       a.reciprocal_roots + b.reciprocal_roots,
            a.shared_accesses + b.shared_accesses, a.barriers + b.barriers};
}

StepCounts step_counts(BatchOperation operation, const ProblemSize& size, int threads,
                       const ElementType& element, index_t first, index_t last) {
    const bool qr = operation == BatchOperation::qr;
    const bool cholesky = operation == BatchOperation::cholesky;
    expects(qr || cholesky || operation == BatchOperation::lu, "not factored in a block");
    const index_t rows = qr ? size.m : size.n;
    expects(rows >= size.n && size.n >= 0, "a factorisation of ", rows, " x ", size.n);
    expects(0 <= first && first <= last && last <= size.n, "columns ", first, " to ", last, " of ",
            size.n);
    const auto side = static_cast<index_t>(std::lround(std::sqrt(std::max(threads, 0))));
    expects(side > 0 && side * side == threads, threads, " threads are no square");

    StepCounts counts;
    for (index_t j = first; j < std::min(rows - 1, last); ++j) {
        add_column(operation, rows, size.n, j, side, counts);
    }
    if (cholesky && first < last && last == size.n) counts.column.reciprocal_roots += 1;
    for (BlockCounts* const of : {&counts.column, &counts.product, &counts.update}) {
        of->multiply_adds *= real_products(element);
    }
    return counts;
}

BlockCounts block_counts(BatchOperation operation, const ProblemSize& size, int threads,
                         const ElementType& element) {
    const StepCounts counts = step_counts(operation, size, threads, element, 0, size.n);
    return counts.column + counts.product + counts.update;
}

double cycles_of(const DeviceParameters& device, const BlockCounts& counts, int threads,
                 const ElementType& element) {
    const ArithmeticParameters& arithmetic = arithmetic_of(device, element);
    return counts.multiply_adds * arithmetic.multiply_add + counts.divisions * arithmetic.division +
           counts.square_roots * arithmetic.square_root +
           counts.reciprocal_roots * arithmetic.reciprocal_root +
           counts.shared_accesses * device.shared_latency +
           counts.barriers * barrier_cycles(device, threads);
}

BlockPrediction predict_in_block(const DeviceParameters& device, BatchOperation operation,
                                 const ProblemSize& size, int threads, const ElementType& element,
                                 int blocks, index_t problems) {
    expects(blocks > 0 && problems >= 0, problems, " problems, ", blocks,
            " blocks a multiprocessor");
    const BlockCounts counts = block_counts(operation, size, threads, element);
    const ArithmeticParameters& arithmetic = arithmetic_of(device, element);
    expects_measured("number of multiprocessors", device.multiprocessors);
    expects_measured("clock", device.clock_ghz);
    expects_measured("shared bandwidth", device.shared_bandwidth);
    expects_measured("rate of multiply-adds", arithmetic.multiply_adds_a_cycle);
    const index_t at_once = index_t{blocks} * device.multiprocessors;

    const double bytes_each_way = work_of(operation, size, element).bytes / 2;
    const double transfer =
        device.clock_ghz *
        nanoseconds_of_transfer(device,
                                bytes_each_way * static_cast<double>(std::min(at_once, problems)));
    BlockPrediction prediction;
    prediction.load = device.global_latency + transfer;
    prediction.store = transfer;
    prediction.compute = cycles_of(device, counts, threads, element);

    const double cycles = prediction.load + prediction.compute + prediction.store;
    const double latencies =
        static_cast<double>(core::ceil_div(problems, at_once)) * cycles / device.clock_ghz;
    const double all_threads = static_cast<double>(problems) * threads;
    const double begun = all_threads * counts.multiply_adds /
                         (arithmetic.multiply_adds_a_cycle * device.multiprocessors) /
                         device.clock_ghz;
    const double shared =
        all_threads * counts.shared_accesses * element.bytes / device.shared_bandwidth;
    prediction.seconds = 1e-6 * device.launch_us + 1e-9 * std::max({latencies, begun, shared});
    return prediction;
}

}  // namespace aperture::dense
