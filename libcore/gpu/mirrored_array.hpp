// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/locked_pages.hpp"
#include "libcore/run_copy.hpp"

namespace aperture::core {

/// An array in the executor's memory and, for asynchronous copies, its mirror in locked pages of
/// the host. Copies of the executor that are under way have ended before either is freed.
template <class T, int Rank, class Executor>
class MirroredArray {
  public:
    using Space = typename Executor::Space;

    explicit MirroredArray(Executor& executor) : executor_(executor) {}
    MirroredArray(const MirroredArray&) = delete;
    MirroredArray& operator=(const MirroredArray&) = delete;
    ~MirroredArray() { executor_.finish(); }

    /// Both grow only, and lose their contents then.
    void reshape(Extents<Rank> extents) {
        grow(device_, extents);
        grow(host_, extents);
        extents_ = extents;
    }
    /// The same without the mirror, for memory that is copied from or to another place.
    void reshape_device(Extents<Rank> extents) {
        grow(device_, extents);
        extents_ = extents;
    }
    View<T, Rank, Host> host() { return {host_.data(), extents_}; }
    View<T, Rank, Space> device() { return {device_.data(), extents_}; }
    void to_device() { copy_runs(executor_, RunCopy(host(), device())); }
    void to_host() { copy_runs(executor_, RunCopy(device(), host())); }

  private:
    template <class Memory>
    void grow(Memory& memory, const Extents<Rank>& extents) {
        index_t wanted = 1;
        for (index_t e : extents) wanted *= e;
        if (wanted <= memory.size()) return;
        executor_.synchronize();
        memory.reshape({wanted});
    }

    Executor& executor_;
    Array<T, 1> host_{{0}, locked_pages<Space>()};
    Array<T, 1, Space> device_;
    Extents<Rank> extents_{};
};

}  // namespace aperture::core
