// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/sweeps/gaussian.cuh"
#include "bench/sweeps/joint_histogram.cuh"
#include "bench/sweeps/network.cuh"
#include "bench/sweeps/shortest_paths.cuh"
#include "bench/sweeps/sweep.cuh"

namespace aperture::bench {
namespace {

/// Checks all tasks, with some order of a block's threads.
template <template <class> class Program, class Problem>
void expect_results(const Problem& problem, double tolerance, bool equal_bits) {
    core::Simt simt(core::LaneOrder::random, 3);
    Program<core::Simt> program(simt, problem);
    Sweep<Program<core::Simt>, core::Simt> sweep(simt, program, problem.inputs);
    const auto expect = [&](const auto& outputs) {
        for (index_t task = 0; task < tasks_at_once; ++task) {
            const std::vector<double> expected = problem.expected(task);
            ASSERT_EQ(outputs.extent()[1], static_cast<index_t>(expected.size()));
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const double value = outputs(task, static_cast<index_t>(i));
                ASSERT_NEAR(value, expected[i], tolerance) << "task " << task << ", element " << i;
            }
        }
    };
    const auto& outputs = sweep.one_by_one();
    expect(outputs);
    const std::vector of_one(outputs.begin(), outputs.end());
    std::fill_n(const_cast<typename Program<core::Simt>::Output*>(outputs.data()), outputs.size(),
                -1);
    expect(sweep.all_at_once());
    if (equal_bits) {
        EXPECT_EQ(std::memcmp(of_one.data(), outputs.data(), sizeof(of_one[0]) * of_one.size()), 0);
    }
}

TEST(SimtSweeps, NetworkRecognisesTheSame) {
    // fp32 sums of 1250 terms.
    expect_results<NetworkSweep>(NetworkProblem(core::Pages::pageable), 2e-5, false);
}

TEST(SimtSweeps, PathsAreShortest) {
    for (const index_t vertices : {32, 33, 257, 1000}) {
        SCOPED_TRACE(vertices);
        expect_results<PathSweep>(PathProblem(vertices, core::Pages::pageable), 0, true);
    }
}

TEST(SimtSweeps, PathsOfManyEdgesAndOfNone) {
    PathProblem problem(40, core::Pages::pageable);
    const index_t ends[] = {0, 80, 81, 81 + 64};
    for (index_t v = 0; v < problem.offsets.size(); ++v) {
        problem.offsets(v) = static_cast<int>(v < 4 ? ends[v] : problem.from.size());
    }
    expect_results<PathSweep>(problem, 0, true);
}

TEST(SimtSweeps, HistogramsCountAllPairs) {
    for (const auto& [slices, side] : {std::pair{1, 8}, {3, 24}, {1, 104}}) {
        SCOPED_TRACE(testing::Message() << slices << " x " << side);
        expect_results<HistogramSweep>(HistogramProblem(slices, core::Pages::pageable, side), 0,
                                       true);
    }
}

TEST(SimtSweeps, HistogramsOfMoreVoxelsThanACounterCounts) {
    HistogramProblem problem(1, core::Pages::pageable, 264);
    std::fill(problem.reference.begin(), problem.reference.end(), std::uint16_t{7});
    std::fill(problem.inputs.begin(), problem.inputs.end(), std::uint16_t{254});
    core::Simt simt(core::LaneOrder::random, 3);
    simt.device.multiprocessors = 1;
    HistogramSweep<core::Simt> program(simt, problem);
    program.load();
    std::vector<int> histogram(histogram_bins * histogram_bins, -1);
    program.run_one(0, std::as_const(problem.inputs).data(), histogram.data());
    EXPECT_EQ(histogram[254 * 256 + 7], 264 * 264);
    EXPECT_EQ(std::count(histogram.begin(), histogram.end(), 0),
              histogram_bins * histogram_bins - 1);
}

TEST(SimtSweeps, GaussiansOfImages) {
    for (const index_t side : {4, 20, 72}) {
        SCOPED_TRACE(side);
        expect_results<GaussianSweep>(GaussianProblem(side, core::Pages::pageable), 1e-6, true);
    }
}

template <class T>
void expect_arranged(index_t size) {
    std::vector<T> tasks(static_cast<std::size_t>(size * tasks_at_once));
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i] = static_cast<T>(i);
    std::vector<T> interleaved(tasks.size()), separate(tasks.size());
    core::Simt simt;
    launch_arrange<true>(simt, std::as_const(tasks).data(), interleaved.data(), size);
    for (index_t task = 0; task < tasks_at_once; ++task) {
        for (index_t i = 0; i < size; ++i) {
            ASSERT_EQ(interleaved[static_cast<std::size_t>(i * tasks_at_once + task)],
                      tasks[static_cast<std::size_t>(task * size + i)]);
        }
    }
    launch_arrange<false>(simt, std::as_const(interleaved).data(), separate.data(), size);
    EXPECT_EQ(separate, tasks);
}

TEST(SimtSweeps, ArrangementIsATransposition) {
    for (const index_t size : {1, 31, 32, 65}) {
        SCOPED_TRACE(size);
        expect_arranged<float>(size);
        expect_arranged<std::uint16_t>(size);
    }
}

}  // namespace
}  // namespace aperture::bench
