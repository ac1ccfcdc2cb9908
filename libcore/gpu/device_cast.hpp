// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "aperture/core/error.hpp"
#include "aperture/core/view.hpp"
#include "libcore/gpu/complex.cuh"

namespace aperture::core {

namespace detail {
template <class T>
struct DeviceTypeOf {
    using type = T;
};
template <class T>
struct DeviceTypeOf<std::complex<T>> {
    using type = Complex<T>;
};
template <class T>
struct DeviceTypeOf<const T> {
    using type = const typename DeviceTypeOf<T>::type;
};
}  // namespace detail

/// Complex<T> for std::complex<T>, T itself for a real T; const stays.
template <class T>
using DeviceType = typename detail::DeviceTypeOf<T>::type;

/// The pointer in the kernels' type. Throws InvalidArgument if it is not aligned to an element.
template <class T>
DeviceType<T>* device_cast(T* pointer) {
    using Target = DeviceType<T>;
    static_assert(sizeof(Target) == sizeof(T));
    expects(reinterpret_cast<std::uintptr_t>(pointer) % alignof(Target) == 0, "address ",
            static_cast<const void*>(pointer), " is not aligned to ", alignof(Target), " bytes");
    return reinterpret_cast<Target*>(pointer);
}

/// The view as kernels take it. Throws InvalidArgument as `device_cast` does.
template <class T, int Rank, class Space, class Layout>
KernelView<DeviceType<T>, Rank> kernel_view(const View<T, Rank, Space, Layout>& view) {
    return {device_cast(view.data), view.extent, view.stride};
}

}  // namespace aperture::core
