// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/ndarray.h>

#include "aperture/core/view.hpp"

namespace aperture::python {

namespace nb = nanobind;
using core::index_t;

template <class Space>
struct DeviceOf;
template <>
struct DeviceOf<core::Host> {
    using type = nb::device::cpu;
};
template <>
struct DeviceOf<core::Device> {
    using type = nb::device::cuda;
};

/// An array argument: exactly this type, rank and memory, any strides. T is const for inputs, which
/// may be read-only.
template <class T, int Rank, class Space>
using ArrayIn =
    nb::ndarray<T, nb::ndim<static_cast<std::size_t>(Rank)>, typename DeviceOf<Space>::type>;

template <class T, int Rank, class Space = core::Host>
core::View<T, Rank, Space> view_of(const ArrayIn<T, Rank, Space>& array) {
    core::View<T, Rank, Space> view;
    view.data = array.data();
    for (int d = 0; d < Rank; ++d) {
        view.extent[d] = static_cast<index_t>(array.shape(static_cast<std::size_t>(d)));
        view.stride[d] = static_cast<index_t>(array.stride(static_cast<std::size_t>(d)));
    }
    return view;
}

}  // namespace aperture::python
