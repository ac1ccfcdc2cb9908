// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/compose/plan.hpp"
#include "aperture/core/executor.hpp"
#include "libcompose/kernels/arguments.hpp"

namespace aperture::compose {

/// Elements of a kernel, or numbers of its batches.
inline index_t work_of(const Kernel& kernel) {
    return kernel.elements.kind == Kind::batch ? static_cast<index_t>(kernel.bytes) / 8
                                               : kernel.elements.size();
}
/// For less work, threads cost more than they save.
inline constexpr index_t least_parallel = 16384;
inline int threads_for(index_t work, const core::Cpu& cpu) {
    return work < least_parallel ? 1 : cpu.threads();
}

/// A kernel without machine code of its own: each call is computed on pieces of rows, by its
/// operation. Refers to the program and the kernel.
class InterpretedKernel {
  public:
    InterpretedKernel(const Program& program, const Kernel& kernel);
    ~InterpretedKernel();
    InterpretedKernel(InterpretedKernel&&) noexcept;

    /// `symbols`: memory of each of the program's symbols.
    void run(core::Cpu& cpu, void* const* symbols);
    /// The first elements, or problems, alone.
    void run(core::Cpu& cpu, void* const* symbols, const kernels::Walk& walk);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::compose
