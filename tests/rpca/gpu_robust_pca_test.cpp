// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/allocated_bytes.hpp"
#include "tests/device_mirror.hpp"
#include "tests/rpca/like_cpu_suite.hpp"
#include "tests/rpca/robust_pca_suite.hpp"
#include "tests/rpca/workspace_cases.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::rpca::oracle {
namespace {

struct GpuRunner : tests::UsableGpu {
    static bool large() { return true; }
    static constexpr int ahead = 1;
    static std::vector<Shape> shapes() {
        std::vector<Shape> shapes = device_shapes();
        shapes.insert(shapes.end(), {{300, 64},
                                     {500, 65},
                                     {900, 104},
                                     {901, 105},
                                     {1000, 128},
                                     {1009, 129},
                                     {700, 168},
                                     {800, 169},
                                     {500, 300}});
        return shapes;
    }
    static std::uint64_t allocations() { return core::device_allocations(); }

    template <class T>
    class Pursuit {
      public:
        Pursuit(GpuRunner& runner, index_t frames, index_t values, const Parameters& parameters)
            : gpu_(*runner.gpu),
              pursuit_(gpu_, frames, values, parameters),
              m_({frames, values}),
              low_rank_({frames, values}),
              sparse_({frames, values}) {}

        Outcome run(const Array<T, 2>& m, Array<T, 2>* low_rank, Array<T, 2>* sparse,
                    const Observer& observe) {
            using View = FramesView<T, core::Device>;
            if (m.extent() != m_.extent()) {
                m_ = Array<T, 2, core::Device>(m.extent());
            }
            core::copy<T, 2, core::Strided>(gpu_, m.view(), m_.view());
            const Outcome outcome =
                pursuit_.run(std::as_const(m_).view(),
                             low_rank == nullptr ? View{}
                             : low_rank == &m    ? m_.view()
                                                 : low_rank_.view(),
                             sparse == nullptr ? View{} : sparse_.view(), observe);
            fetch(low_rank == &m ? m_ : low_rank_, low_rank);
            fetch(sparse_, sparse);
            return outcome;
        }

      private:
        void fetch(const Array<T, 2, core::Device>& from, Array<T, 2>* to) {
            if (to == nullptr) return;
            core::copy<T, 2, core::Strided>(gpu_, from.view(), to->view());
            gpu_.synchronize();
        }

        core::Gpu& gpu_;
        RobustPca<T, core::Gpu> pursuit_;
        Array<T, 2, core::Device> m_;
        Array<T, 2, core::Device> low_rank_;
        Array<T, 2, core::Device> sparse_;
    };
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, RobustPcaSuite, GpuRunner);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, RobustPcaLikeCpuSuite, GpuRunner);

template <class T>
void expect_promised(core::Gpu& gpu, index_t frames, index_t values, const Parameters& parameters) {
    using Pca = RobustPca<T, core::Gpu>;
    const auto bytes_of_run = [&](FramesView<const T, core::Host> m) {
        Array<T, 2, core::Device> on_device(m.extent);
        core::copy<T, 2, core::Strided>(gpu, m, on_device.view());
        const auto allocated = [] {
            return core::host_bytes_allocated() + core::device_bytes_allocated();
        };
        const auto before = allocated();
        Pca(gpu, frames, values, parameters).run(std::as_const(on_device).view(), {}, {});
        return static_cast<index_t>(allocated() - before);
    };
    expect_promise<T>(Pca::workspace_bytes(gpu, frames, values, parameters), frames, values,
                      parameters, bytes_of_run);
}

TEST(GpuRobustPca, AllocatesWhatItPromises) {
    GpuRunner runner;
    if (const std::string reason = runner.why_not(); !reason.empty()) GTEST_SKIP() << reason;
    for (const Parameters& parameters : all_ways()) {
        expect_promised<float>(*runner.gpu, 40, 100000, parameters);
        expect_promised<double>(*runner.gpu, 300, 20000, parameters);
    }
}

TEST(GpuRobustPca, IsUnfitForMoreFramesThanCusolverTakes) {
    GpuRunner runner;
    if (const std::string reason = runner.why_not(); !reason.empty()) GTEST_SKIP() << reason;
    using Pca = RobustPca<float, core::Gpu>;
    EXPECT_GT(Pca::workspace_bytes(*runner.gpu, 20000, 100, Parameters{}).device, 20000 * 20000);
    EXPECT_THROW(Pca::workspace_bytes(*runner.gpu, 40000, 100, Parameters{}), core::UnfitDevice);
}

}  // namespace
}  // namespace aperture::rpca::oracle
