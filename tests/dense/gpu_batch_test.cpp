// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <type_traits>

#include "tests/dense/batch_suite.hpp"

namespace aperture::dense::oracle {
namespace {

/// A device copy of the elements a view spans, gaps included, with the same strides.
template <class T, int Rank, class Layout>
class DeviceMirror {
    using Element = std::remove_const_t<T>;

  public:
    DeviceMirror(core::Gpu& gpu, core::View<T, Rank, core::Host, Layout> host)
        : gpu_(gpu), host_(host) {
        if (host.empty()) return;
        core::index_t span = 1;
        for (int d = 0; d < Rank; ++d) span += (host.extent[d] - 1) * host.stride[d];
        memory_ = core::Array<Element, 1, core::Device>({span});
        core::copy(gpu_, core::View<const Element, 1, core::Host>(host.data, {span}),
                   memory_.view());
    }

    core::View<T, Rank, core::Device, Layout> view() {
        return {memory_.data(), host_.extent, host_.stride};
    }
    void fetch() {
        if (host_.empty()) return;
        core::copy(gpu_, core::View<const Element, 1, core::Device>(memory_.view()),
                   core::View<Element, 1, core::Host>(host_.data, memory_.extent()));
        gpu_.synchronize();
    }

  private:
    core::Gpu& gpu_;
    core::View<T, Rank, core::Host, Layout> host_;
    core::Array<Element, 1, core::Device> memory_;
};
template <class T, int Rank, class Layout>
DeviceMirror(core::Gpu&, core::View<T, Rank, core::Host, Layout>) -> DeviceMirror<T, Rank, Layout>;

struct GpuRunner {
    static constexpr bool emulated = false;
    std::optional<core::Gpu> gpu;

    GpuRunner() {
        if (core::gpu_status().usable) gpu.emplace();
    }
    static std::string why_not() {
        const core::GpuStatus status = core::gpu_status();
        return status.usable ? "" : "no usable GPU: " + status.reason;
    }

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
