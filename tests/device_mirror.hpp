// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::tests {

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

}  // namespace aperture::tests
