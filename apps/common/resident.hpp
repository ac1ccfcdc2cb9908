// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "apps/common/program.hpp"
#include "apps/common/report.hpp"

namespace aperture::apps {

/// Type of host memory that is copied to and from an executor while the host does other work.
template <class Executor>
inline constexpr core::Pages pages_for =
    is_gpu<Executor> ? core::Pages::locked : core::Pages::pageable;

/// A dense host array in the executor's memory: the array itself on the CPU, a copy on a GPU. The
/// copy is allocated once for arrays of one size.
template <class Executor, class T, int Rank>
class Resident {
  public:
    using Space = typename Executor::Space;
    using HostView = core::View<T, Rank, core::Host>;

    explicit Resident(Executor& executor) : executor_(executor) {}
    Resident(Executor& executor, HostView host) : executor_(executor) { attach(host); }

    /// Later arrays of up to this size need no allocation, so one can be attached while the copy of
    /// the previous one is still read.
    void reserve(const core::Extents<Rank>& extent) {
        if constexpr (is_gpu<Executor>) device_.reshape(extent);
    }
    /// Represents `host` from now on, which must outlive its use. Copies nothing.
    void attach(HostView host) {
        host_ = host;
        if constexpr (is_gpu<Executor>) device_.reshape(host.extent);
    }
    /// Attaches `host` and copies it to the executor, asynchronously like core::copy.
    void load(HostView host) {
        attach(host);
        if constexpr (is_gpu<Executor>) {
            core::copy(executor_, Constant<core::Host>(host), device_.view());
        }
    }
    /// Copies the executor's data to the host array, asynchronously like core::copy. An empty array
    /// is skipped.
    void store() requires(!std::is_const_v<T>) {
        if constexpr (is_gpu<Executor>) {
            if (!host_.empty()) core::copy(executor_, Constant<Space>(device_.view()), host_);
        }
    }
    core::View<T, Rank, Space> view() {
        if constexpr (is_gpu<Executor>) {
            return device_;
        } else {
            return host_;
        }
    }

  private:
    using Element = std::remove_const_t<T>;
    template <class Memory>
    using Constant = core::View<const Element, Rank, Memory>;

    Executor& executor_;
    HostView host_;
    core::Array<Element, Rank, Space> device_;  ///< empty on the CPU
};

/// Calls `load`, `compute` and `store` and waits for each. The stages are those of `timeline`. Load
/// and store count as transfer, which takes no time on the CPU.
template <class Executor, class Load, class Compute, class Store>
RunTimes run_resident(Executor& executor, core::Timeline& timeline, const Load& load,
                      const Compute& compute, const Store& store) {
    timeline.begin_run();
    core::Stopwatch watch;
    load();
    executor.synchronize();
    const double load_ms = watch.ms();
    watch.reset();
    compute();
    executor.synchronize();
    const double compute_ms = watch.ms();
    watch.reset();
    store();
    executor.synchronize();
    return {timeline.stages(), compute_ms, is_gpu<Executor> ? load_ms + watch.ms() : 0};
}

}  // namespace aperture::apps
