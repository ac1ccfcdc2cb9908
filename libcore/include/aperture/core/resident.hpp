// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::core {

/// Type of host memory that is copied to and from an executor while the host does other work.
template <class Executor>
inline constexpr Pages pages_for = is_gpu<Executor> ? Pages::locked : Pages::pageable;

/// A dense host array in the executor's memory: the array itself on the CPU, a copy on a GPU. The
/// copy is allocated once for arrays of one size.
template <class Executor, class T, int Rank>
class Resident {
  public:
    using Space = typename Executor::Space;
    using HostView = View<T, Rank, Host>;

    explicit Resident(Executor& executor) : executor_(executor) {}
    Resident(Executor& executor, HostView host) : executor_(executor) { attach(host); }

    /// Later arrays of up to this size need no allocation, so one can be attached while the copy of
    /// the previous one is still read.
    void reserve(const Extents<Rank>& extent) {
        if constexpr (is_gpu<Executor>) device_.reshape(extent);
    }
    /// Represents `host` from now on, which must outlive its use. Copies nothing.
    void attach(HostView host) {
        host_ = host;
        if constexpr (is_gpu<Executor>) device_.reshape(host.extent);
    }
    /// Attaches `host` and copies it to the executor, asynchronously like copy.
    void load(HostView host) {
        attach(host);
        if constexpr (is_gpu<Executor>) {
            copy(executor_, Constant<Host>(host), device_.view());
        }
    }
    /// Copies the executor's data to the host array, asynchronously like copy. An empty array
    /// is skipped.
    void store() requires(!std::is_const_v<T>) {
        if constexpr (is_gpu<Executor>) {
            if (!host_.empty()) copy(executor_, Constant<Space>(device_.view()), host_);
        }
    }
    View<T, Rank, Space> view() {
        if constexpr (is_gpu<Executor>) {
            return device_;
        } else {
            return host_;
        }
    }

  private:
    using Element = std::remove_const_t<T>;
    template <class Memory>
    using Constant = View<const Element, Rank, Memory>;

    Executor& executor_;
    HostView host_;
    Array<Element, Rank, Space> device_;  ///< empty on the CPU
};

/// The array in the executor's memory: itself on the CPU, a copy on a GPU.
template <class Executor, class T, int Rank>
auto to_executor([[maybe_unused]] Executor& executor, Array<T, Rank> host) {
    if constexpr (is_gpu<Executor>) {
        Array<T, Rank, typename Executor::Space> there(host.extent());
        copy(executor, std::as_const(host).view(), there.view());
        executor.synchronize();
        return there;
    } else {
        return host;
    }
}

}  // namespace aperture::core
