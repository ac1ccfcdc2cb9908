// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/array.hpp"
#include "libcompose/gpu/control.cuh"

namespace aperture::compose {

/// In whose home each symbol lies: memory of symbol placement[s] holds symbol s.
using Placement = std::vector<SymbolId>;

/// Exchanges what a kernel only copies.
void exchange(Placement& placement, const Kernel& kernel);

/// Device memory of a program's symbols, and tables of pointers to it that kernels read: a row for
/// each placement that is known before a run, the first of all symbols at home, and one that
/// changes while kernels run. Scalars never move.
class DeviceMemory {
  public:
    DeviceMemory(core::Gpu& gpu, const Plan& plan, std::vector<Placement> placements, int loops);

    /// Takes the caller's memory. Scalars that are inputs are read on the host, everything else is
    /// device memory. Asynchronous.
    void bind(core::Gpu& gpu, const Arguments& arguments, std::span<const Argument> results);

    /// The symbols of a placement.
    void** row(std::size_t placement) const;
    void** changing_row() const { return row(placements_.size()); }
    /// Submits that all symbols are at home in the changing row.
    void reset_changing_row(cudaStream_t stream) const;

    /// The memory of a symbol at home, from `bind` on.
    void* home(SymbolId id) const { return home_[static_cast<std::size_t>(id)]; }
    template <class T = void>
    T* scalar(SymbolId id) const {
        return static_cast<T*>(scalar_memory(id));
    }
    control::LoopState* loop(int i) const;
    /// Not 0 once a loop did not end.
    int* unended() const;

    /// Submits copies to the caller's memory of what lies elsewhere. `known`: what is not at home,
    /// if that is known.
    void finish(cudaStream_t stream, void** row, const Placement* known) const;

  private:
    std::size_t row_size() const;
    void* scalar_memory(SymbolId id) const;

    const Program& program_;
    std::vector<Placement> placements_;
    std::vector<core::Array<std::byte, 1, core::Device>> own_;
    // Rows; 16 bytes for each symbol, those of scalars; states of loops; `unended`. A row has the
    // memory of each symbol, then that of the caller for each, then that of each result.
    core::Array<std::byte, 1, core::Device> tables_;
    std::vector<std::byte> sent_;
    std::vector<void*> home_;
    std::size_t scalars_at_ = 0, loops_at_ = 0, unended_at_ = 0;
};

}  // namespace aperture::compose
