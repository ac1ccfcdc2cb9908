// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <tuple>
#include <type_traits>

#include "tests/dense/batch_suite.hpp"
#include "tests/dense/blas_suite.hpp"
#include "tests/dense/factor_suite.hpp"
#include "tests/dense/orthogonal_suite.hpp"
#include "tests/dense/spectral_suite.hpp"
#include "tests/device_mirror.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::dense::oracle {
namespace {

/// An argument on the GPU, and back.
template <class Argument>
struct OnGpu {
    Argument value;
    OnGpu(core::Gpu&, Argument argument) : value(argument) {}
    Argument argument() { return value; }
    void fetch() {}
};
template <class U, int Rank, class Layout>
struct OnGpu<core::View<U, Rank, core::Host, Layout>> {
    tests::DeviceMirror<U, Rank, Layout> mirror;
    OnGpu(core::Gpu& gpu, core::View<U, Rank, core::Host, Layout> host) : mirror(gpu, host) {}
    auto argument() { return mirror.view(); }
    void fetch() {
        if constexpr (!std::is_const_v<U>) mirror.fetch();
    }
};

struct GpuRunner : tests::UsableGpu {
    static constexpr bool emulated = false;

    template <class... Arguments>
    void run(auto function, Arguments... arguments) {
        std::tuple<OnGpu<Arguments>...> there{OnGpu<Arguments>(*gpu, arguments)...};
        std::apply([&](auto&... some) { function(*gpu, some.argument()...); }, there);
        std::apply([](auto&... some) { (some.fetch(), ...); }, there);
    }
};

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, BatchSuite, AllCombinations<GpuRunner>);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, BlasSuite, AllCombinations<GpuRunner>);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, FactorSuite, AllCombinations<GpuRunner>);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, OrthogonalSuite, AllCombinations<GpuRunner>);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, SpectralSuite, AllCombinations<GpuRunner>);

}  // namespace aperture::dense::oracle
