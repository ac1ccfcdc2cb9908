// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
#include "tests/rpca/robust_pca_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::rpca::oracle {
namespace {

struct GpuRunner : tests::UsableGpu {
    static bool large() { return true; }
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

}  // namespace
}  // namespace aperture::rpca::oracle
