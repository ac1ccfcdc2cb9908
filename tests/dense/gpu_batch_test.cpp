// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/batch_suite.hpp"
#include "tests/device_mirror.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::dense::oracle {
namespace {

using tests::DeviceMirror;

struct GpuRunner : tests::UsableGpu {
    static constexpr bool emulated = false;

    template <class T, class Layout>
    void solve(Factorisation factorisation, MatrixBatch<const T, core::Host, Layout> a,
               MatrixBatch<T, core::Host, Layout> x, core::View<int, 1, core::Host> info,
               core::View<Real<T>, 1, core::Host> pivot_ratio) {
        DeviceMirror device_a(*gpu, a);
        DeviceMirror device_x(*gpu, x);
        DeviceMirror device_info(*gpu, info);
        DeviceMirror device_ratio(*gpu, pivot_ratio);
        dense::solve(*gpu, factorisation, device_a.view(), device_x.view(), device_info.view(),
                     device_ratio.view());
        device_x.fetch();
        device_info.fetch();
        device_ratio.fetch();
    }
    template <class T, class Layout>
    void hermitian_rank_k(Real<T> alpha, MatrixBatch<const T, core::Host, Layout> a, Real<T> beta,
                          MatrixBatch<T, core::Host, Layout> c) {
        DeviceMirror device_a(*gpu, a);
        DeviceMirror device_c(*gpu, c);
        dense::hermitian_rank_k(*gpu, alpha, device_a.view(), beta, device_c.view());
        device_c.fetch();
    }
    template <class T, class From, class To>
    void change_layout(MatrixBatch<const T, core::Host, From> from,
                       MatrixBatch<T, core::Host, To> to) {
        DeviceMirror device_from(*gpu, from);
        DeviceMirror device_to(*gpu, to);
        dense::change_layout(*gpu, device_from.view(), device_to.view());
        device_to.fetch();
    }
};

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, BatchSuite, AllCombinations<GpuRunner>);

}  // namespace aperture::dense::oracle
