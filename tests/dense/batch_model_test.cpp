// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_model.hpp"

#include <gtest/gtest.h>

#include <complex>

#include "aperture/core/error.hpp"

namespace aperture::dense {
namespace {

constexpr ElementType real = element_type<float>;

/// Anderson 2014, Tables 4.1 and 4.2; a division or a root takes 170 cycles.
DeviceParameters quadro_6000() {
    DeviceParameters device;
    device.global_latency = 570;
    device.global_bandwidth = 108;
    device.shared_latency = 27;
    device.shared_bandwidth = 880;
    device.barriers = {{64, 46}};
    device.fp32 = {18, 170, 170, 170, 32};
    device.fp64 = {18, 170, 170, 170, 16};
    device.clock_ghz = 1.15;
    device.multiprocessors = 14;
    return device;
}

void expect_work(BatchOperation operation, ProblemSize size, double flops, double elements) {
    const auto name = static_cast<int>(operation);
    const Work single = work_of(operation, size, real);
    EXPECT_NEAR(single.flops, flops, 1e-9 * flops) << name;
    EXPECT_EQ(single.bytes, 4 * elements) << name;
    const Work complex = work_of(operation, size, element_type<std::complex<double>>);
    EXPECT_NEAR(complex.flops, 4 * flops, 4e-9 * flops) << name;
    EXPECT_EQ(complex.bytes, 16 * elements) << name;
}

TEST(BatchWork, OfEveryOperation) {
    expect_work(BatchOperation::dot, {0, 10, 0}, 20, 21);
    expect_work(BatchOperation::gemv, {3, 5, 0}, 30, 23);
    expect_work(BatchOperation::gemm, {2, 3, 4}, 48, 26);
    expect_work(BatchOperation::cholesky, {0, 6, 0}, 72, 42);
    expect_work(BatchOperation::lu, {0, 6, 0}, 144, 72);
    expect_work(BatchOperation::qr, {9, 6, 0}, 504, 108);
    expect_work(BatchOperation::solve, {0, 6, 2}, 216, 45);
    expect_work(BatchOperation::gauss_jordan, {0, 6, 1}, 288, 48);
    expect_work(BatchOperation::invert, {0, 6, 0}, 432, 72);
    EXPECT_THROW(work_of(BatchOperation::qr, {5, 6, 0}, real), core::InvalidArgument);
    EXPECT_THROW(work_of(BatchOperation::dot, {0, -1, 0}, real), core::InvalidArgument);
}

// Sections 4.4 and 4.5.
TEST(BatchWork, NumbersOfTheThesis) {
    const Work seven = work_of(BatchOperation::qr, {7, 7, 0}, real);
    EXPECT_NEAR(seven.flops, 457, 0.5);
    EXPECT_EQ(seven.bytes, 392);
    const double seconds = predict_in_thread(quadro_6000(), seven, 64000);
    EXPECT_NEAR(1e-9 * 64000 * seven.flops / seconds, 126, 0.5);
    DeviceParameters slow_launch = quadro_6000();
    slow_launch.launch_us = 7;
    EXPECT_NEAR(predict_in_thread(slow_launch, seven, 64000), seconds + 7e-6, 1e-12);
    const Work large = work_of(BatchOperation::qr, {112, 112, 0}, real);
    EXPECT_NEAR(1e-6 * large.flops, 1.87, 0.005);
    EXPECT_NEAR(1e-3 * large.bytes, 100, 0.5);
}

void expect_counts(const BlockCounts& counts, const BlockCounts& expected) {
    EXPECT_EQ(counts.multiply_adds, expected.multiply_adds);
    EXPECT_EQ(counts.divisions, expected.divisions);
    EXPECT_EQ(counts.square_roots, expected.square_roots);
    EXPECT_EQ(counts.reciprocal_roots, expected.reciprocal_roots);
    EXPECT_EQ(counts.shared_accesses, expected.shared_accesses);
    EXPECT_EQ(counts.barriers, expected.barriers);
}

TEST(BlockCounts, SmallProblemsByHand) {
    // Two steps on four threads, N = 2 and 1.
    expect_counts(block_counts(BatchOperation::lu, {0, 3, 0}, 4, real),
                  {2 + 4 + 1 + 1, 2, 0, 0, 2 + 8 + 2 + 4, 6});
    expect_counts(block_counts(BatchOperation::cholesky, {0, 3, 0}, 4, real),
                  {2 + 3 + 1 + 1, 0, 0, 3, 2 + 6 + 2 + 3, 6});
    expect_counts(block_counts(BatchOperation::qr, {3, 3, 0}, 4, real),
                  {(2 + 2) + (2 + 2) + (4 + 2) + 4 + (1 + 2) + (2 + 1) + (1 + 2) + 1, 4, 2, 0,
                   3 + 2 + 4 + 3 + 2 + 3 + 2 + 2 + 3 + 1, 8});
    // Two columns, both with N = 2 rows and one column.
    expect_counts(block_counts(BatchOperation::qr, {4, 2, 0}, 4, real),
                  {2 * (4 + 4 + 4 + 2), 4, 2, 0, 2 * (3 + 2 + 4 + 3 + 1), 8});
    // Complex multiply-adds are four.
    expect_counts(block_counts(BatchOperation::lu, {0, 3, 0}, 4, element_type<std::complex<float>>),
                  {4 * 8, 2, 0, 0, 16, 6});
    expect_counts(block_counts(BatchOperation::lu, {0, 1, 0}, 4, real), {});
    expect_counts(block_counts(BatchOperation::cholesky, {0, 0, 0}, 4, real), {});
}

TEST(BlockCounts, OfPartsAddUp) {
    using enum BatchOperation;
    for (const BatchOperation operation : {lu, cholesky, qr}) {
        const auto counts = [&](core::index_t first, core::index_t last) {
            return step_counts(operation, {13, 13, 0}, 16, real, first, last);
        };
        const StepCounts front = counts(0, 5);
        const StepCounts back = counts(5, 13);
        expect_counts(
            front.column + front.product + front.update + back.column + back.product + back.update,
            block_counts(operation, {13, 13, 0}, 16, real));
        EXPECT_EQ(front.product.multiply_adds > 0, operation == qr);
        EXPECT_GT(front.update.multiply_adds, back.update.multiply_adds);
        EXPECT_THROW(counts(5, 14), core::InvalidArgument);
        EXPECT_THROW(counts(-1, 5), core::InvalidArgument);
        EXPECT_THROW(counts(6, 5), core::InvalidArgument);
    }
}

TEST(BlockCounts, RefuseOtherOperationsAndShapes) {
    const auto counts = [](BatchOperation operation, ProblemSize size, int threads) {
        return block_counts(operation, size, threads, real);
    };
    EXPECT_THROW(counts(BatchOperation::invert, {0, 8, 0}, 64), core::InvalidArgument);
    EXPECT_THROW(counts(BatchOperation::lu, {0, 8, 0}, 60), core::InvalidArgument);
    EXPECT_THROW(counts(BatchOperation::lu, {0, 8, 0}, -64), core::InvalidArgument);
    EXPECT_THROW(counts(BatchOperation::lu, {0, -1, 0}, 64), core::InvalidArgument);
    EXPECT_THROW(counts(BatchOperation::qr, {7, 8, 0}, 64), core::InvalidArgument);
}

// Table 4.3: 68,250 and 150,203 cycles were measured between load and store of 56 x 56.
TEST(BlockPrediction, CyclesOfTheThesis) {
    const DeviceParameters device = quadro_6000();
    const BlockPrediction lu =
        predict_in_block(device, BatchOperation::lu, {0, 56, 0}, 64, real, 8, 8000);
    EXPECT_NEAR(lu.compute, 68.2e3, 0.05e3);
    EXPECT_NEAR(lu.compute, 68250, 0.002 * 68250);
    const BlockPrediction qr =
        predict_in_block(device, BatchOperation::qr, {56, 56, 0}, 64, real, 8, 8000);
    EXPECT_NEAR(qr.compute, 152e3, 0.1e3);
    EXPECT_NEAR(qr.compute, 150203, 0.013 * 150203);
    // 112 matrices at 108 GB/s: more than the 9000 cycles measured, which no bandwidth of the
    // device explains.
    EXPECT_NEAR(qr.store, 112 * 12544 / 108.0 * 1.15, 1);
    EXPECT_NEAR(qr.load, qr.store + 570, 1e-6);
    // 8000 problems, 112 at once, are 72 rounds.
    EXPECT_NEAR(qr.seconds, 72 * (qr.load + qr.compute + qr.store) / 1.15e9, 1e-9);
}

TEST(BlockPrediction, FewProblemsTakeAsLongAsOne) {
    DeviceParameters device = quadro_6000();
    device.launch_us = 5;
    const auto predict = [&](core::index_t problems) {
        return predict_in_block(device, BatchOperation::cholesky, {0, 24, 0}, 64, real, 2,
                                problems);
    };
    const BlockPrediction one = predict(1);
    EXPECT_NEAR(one.store, 1200 / 108.0 * 1.15, 1e-9);
    EXPECT_NEAR(one.seconds, 5e-6 + (one.load + one.compute + one.store) / 1.15e9, 1e-12);
    EXPECT_EQ(predict(28).compute, one.compute);
    EXPECT_NEAR(predict(28).store, 28 * one.store, 1e-9);
    EXPECT_NEAR(predict(29).seconds - 5e-6, 2 * (predict(28).seconds - 5e-6), 1e-12);
    EXPECT_DOUBLE_EQ(predict(0).seconds, 5e-6);
}

TEST(BlockPrediction, NoPartDoesMoreThanItCan) {
    const auto seconds = [](const DeviceParameters& device, ElementType element) {
        return predict_in_block(device, BatchOperation::lu, {0, 56, 0}, 64, element, 8, 8000)
            .seconds;
    };
    DeviceParameters few_units = quadro_6000();
    few_units.fp32.multiply_adds_a_cycle = 0.5;
    EXPECT_NEAR(seconds(few_units, real), 8000 * 64 * 1342 / (14 * 0.5 * 1.15e9), 1e-9);
    EXPECT_NEAR(seconds(few_units, element_type<double>),
                seconds(quadro_6000(), element_type<double>), 1e-12);
    DeviceParameters slow_memory = quadro_6000();
    slow_memory.shared_bandwidth = 8;
    EXPECT_NEAR(seconds(slow_memory, real), 8000.0 * 64 * 1002 * 4 / 8e9, 1e-9);
}

/// As `gpu_parameters` measured an H100.
DeviceParameters h100() {
    DeviceParameters device;
    device.global_latency = 685.7;
    device.global_bandwidth = 2797;
    device.clock_ghz = 1.98;
    device.multiprocessors = 132;
    device.launch_us = 3.7;
    device.barriers = {{32, 14.7}, {64, 16.7}, {128, 20.7}, {256, 28.7}};
    device.registers = 65536;
    device.shared_bytes = 233472;
    return device;
}

// Times in ms of so many matrices there, of each mapping.
TEST(KernelModel, TimesOnAnH100) {
    struct Measured {
        BatchOperation operation;
        core::index_t order, problems;
        double ms;
    };
    using enum BatchOperation;
    for (const Measured& it : {Measured{lu, 4, 2097152, 0.113}, Measured{qr, 8, 524288, 0.101},
                               Measured{lu, 16, 131072, 0.109},
                               Measured{cholesky, 24, 69905, 0.111}, Measured{qr, 32, 32768, 0.143},
                               Measured{cholesky, 64, 16384, 0.206}, Measured{lu, 64, 8192, 0.205},
                               Measured{qr, 64, 16384, 0.432}, Measured{cholesky, 96, 4723, 0.251},
                               Measured{lu, 128, 2048, 0.345}, Measured{qr, 128, 2048, 0.687}}) {
        const double ms = 1e3 * predict_factors(h100(), it.operation, it.order, real, it.problems);
        EXPECT_NEAR(ms / it.ms, 1, 0.2) << it.order << ' ' << it.ms;
    }
}

TEST(KernelModel, FewProblemsTakeAsLongAsOne) {
    const DeviceParameters device = h100();
    const KernelWork work = kernel_work(device, BatchOperation::lu, 64, real);
    const auto seconds = [&](core::index_t problems) {
        return predict_factors(device, BatchOperation::lu, 64, real, problems);
    };
    EXPECT_DOUBLE_EQ(seconds(0), 3.7e-6);
    EXPECT_GT(seconds(1), 3.7e-6 + work.chain / 1.98e9);
    EXPECT_LT(seconds(64), 1.2 * seconds(1));
    EXPECT_NEAR(seconds(200'000), 2 * seconds(100'000), 1e-2 * seconds(200'000));
}

TEST(KernelModel, CountsGrowWithTheOrder) {
    const DeviceParameters device = h100();
    for (const BatchOperation operation :
         {BatchOperation::lu, BatchOperation::cholesky, BatchOperation::qr}) {
        double before = 0;
        for (core::index_t n = 4; n <= 128; n *= 2) {
            const KernelWork work = kernel_work(device, operation, n, real);
            EXPECT_GT(work.instructions, before) << n;
            EXPECT_GE(work.resident, 1) << n;
            EXPECT_GT(
                kernel_work(device, operation, n, element_type<std::complex<float>>).instructions,
                work.instructions);
            before = work.instructions;
        }
    }
    // As a profiler counted them: 104.9 million for 2674 matrices.
    EXPECT_NEAR(kernel_work(device, BatchOperation::cholesky, 128, real).instructions, 39.2e3, 4e3);
}

TEST(KernelModel, RefusesOtherOperationsAndDevices) {
    const auto work = [](const DeviceParameters& device, BatchOperation operation,
                         core::index_t order) {
        return kernel_work(device, operation, order, real);
    };
    EXPECT_THROW(work(h100(), BatchOperation::gemm, 8), core::InvalidArgument);
    EXPECT_THROW(work(h100(), BatchOperation::lu, 0), core::InvalidArgument);
    EXPECT_THROW(work(h100(), BatchOperation::lu, 129), core::InvalidArgument);
    EXPECT_THROW(work({}, BatchOperation::lu, 8), core::InvalidArgument);
    EXPECT_THROW(predict_factors({}, BatchOperation::lu, 8, real, 1), core::InvalidArgument);
}

TEST(DeviceParameters, WhatIsUsedMustHaveBeenMeasured) {
    const Work work = work_of(BatchOperation::qr, {7, 7, 0}, real);
    EXPECT_THROW(predict_in_thread({}, work, 1), core::InvalidArgument);
    const auto predict = [](const DeviceParameters& device, ElementType element) {
        return predict_in_block(device, BatchOperation::lu, {0, 8, 0}, 64, element, 8, 100);
    };
    DeviceParameters device = quadro_6000();
    device.fp64.multiply_adds_a_cycle = 0;
    EXPECT_NO_THROW(predict(device, real));
    EXPECT_THROW(predict(device, element_type<double>), core::InvalidArgument);
    device.multiprocessors = 0;
    EXPECT_THROW(predict(device, real), core::InvalidArgument);
}

TEST(DeviceParameters, BarriersBetweenThoseMeasured) {
    DeviceParameters device;
    EXPECT_THROW(barrier_cycles(device, 64), core::InvalidArgument);
    device.barriers = {{64, 46}, {256, 70}};
    EXPECT_EQ(barrier_cycles(device, 32), 46);
    EXPECT_EQ(barrier_cycles(device, 160), 58);
    EXPECT_EQ(barrier_cycles(device, 256), 70);
    EXPECT_EQ(barrier_cycles(device, 1024), 70);
}

}  // namespace
}  // namespace aperture::dense
