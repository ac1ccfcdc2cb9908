// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// A checkpoint that throws ends every operation, and leaves an object that is as good as new. One
// thread passes all checkpoints, in one order.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "aperture/rpca/mask.hpp"
#include "aperture/rpca/online_pca.hpp"
#include "aperture/rpca/temporal_median.hpp"
#include "tests/rpca/oracle.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::rpca::oracle {
namespace {

using core::Array;
using core::index_t;

struct Ended {};

constexpr index_t frames = 20;
constexpr index_t values = 1500;

/// Runs `work` again and again, ended by its first, second, ... checkpoint, until it has passed all
/// of them. Calls `after_each` with their number, without checkpoints.
template <class Work, class AfterEach>
int end_everywhere(core::Cpu& cpu, const Work& work, const AfterEach& after_each) {
    for (int passed = 0;; ++passed) {
        int left = passed;
        cpu.set_checkpoint([&] {
            if (left-- == 0) throw Ended();
        });
        bool ended = false;
        try {
            work();
        } catch (const Ended&) {
            ended = true;
        }
        cpu.set_checkpoint({});
        if (!ended) return passed;
        SCOPED_TRACE(testing::Message() << "after " << passed << " checkpoints");
        after_each();
    }
}

template <class T>
void expect_ends_everywhere(const Parameters& parameters) {
    const Array<T, 2> m = frames_of<T>(video_like(values, frames));
    core::Cpu cpu(1);
    Array<T, 2> low_rank(m.extent()), sparse(m.extent());
    Array<T, 2> expected_low_rank(m.extent()), expected_sparse(m.extent());
    RobustPca<T, core::Cpu>(cpu, frames, values, parameters)
        .run(m.view(), expected_low_rank, expected_sparse);
    RobustPca<T, core::Cpu> pca(cpu, frames, values, parameters);
    int iterations = 0;
    const auto run = [&] { iterations = pca.run(m.view(), low_rank, sparse).iterations; };
    const int checkpoints = end_everywhere(cpu, run, [&] {
        run();
        EXPECT_TRUE(tests::same_bytes(low_rank, expected_low_rank));
        EXPECT_TRUE(tests::same_bytes(sparse, expected_sparse));
    });
    EXPECT_EQ(iterations, parameters.max_iterations);
    EXPECT_GE(checkpoints, 2 + iterations) << "loading, starting and every iteration";
}

TEST(Checkpoints, EndEverySolver) {
    for (const Solver solver : {Solver::ialm, Solver::admm, Solver::accaltproj}) {
        for (const Svd svd : {Svd::gram, Svd::tsqr, Svd::cholqr2}) {
            // Only ialm's are all run: admm takes other steps, and projections have one way.
            if (solver != Solver::ialm && svd != Svd::gram) continue;
            SCOPED_TRACE(testing::Message() << "solver " << static_cast<int>(solver) << ", svd "
                                            << static_cast<int>(svd));
            Parameters parameters;
            parameters.solver = solver;
            parameters.svd = svd;
            parameters.max_iterations = 2;
            parameters.mask_threshold = 25;
            expect_ends_everywhere<float>(parameters);
            expect_ends_everywhere<double>(parameters);
        }
    }
}

TEST(Checkpoints, EndTheNextOfOnlinePca) {
    const Array<float, 2> m = frames_of<float>(video_like(values, frames));
    core::Cpu cpu(1);
    Array<float, 2> followed({2, values}), expected({2, values});
    const auto next = [&](OnlinePca& pca, index_t frame, Array<float, 2>& to) {
        pca.next(m.view()[1 + frame], to.view()[frame]);
        pca.learn({});
    };
    OnlinePca other(cpu, values, {}), pca(cpu, values, {});
    other.begin(m.view()[0]);
    pca.begin(m.view()[0]);
    for (const index_t frame : {0, 1}) next(other, frame, expected);

    // The state is unchanged: the same frame may come again.
    next(pca, 0, followed);
    EXPECT_EQ(end_everywhere(
                  cpu, [&] { next(pca, 1, followed); }, [] {}),
              1);
    EXPECT_TRUE(tests::same_bytes(followed, expected));
}

TEST(Checkpoints, EndMediansAndMasks) {
    const Array<float, 2> m = frames_of<float>(video_like(values, frames));
    core::Cpu cpu(1);
    Array<float, 1> background({values});
    Array<float, 2> differences(m.extent());
    Array<std::uint8_t, 3> masks({frames, 30, 50});
    const auto none = [] {};
    EXPECT_GE(end_everywhere(
                  cpu, [&] { temporal_median(cpu, m.view(), background); }, none),
              1);
    const auto subtract = [&] {
        subtract_backgrounds(cpu, m.view(), {background.data(), m.extent(), {0, 1}}, differences);
    };
    EXPECT_GE(end_everywhere(cpu, subtract, none), 1);
    const auto find = [&] {
        const DifferencesView<core::Host> planes(differences.data(), {frames, 1, 30, 50});
        core::Array<float, 2> scales({30, 50});
        pixel_scales(cpu, planes, scales);
        find_masks(cpu, {planes, std::as_const(scales).view()}, MaskParameters{}, masks);
    };
    EXPECT_GE(end_everywhere(cpu, find, none), 1);
}

}  // namespace
}  // namespace aperture::rpca::oracle
