// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/compose/plan.hpp"
#include "aperture/core/executor.hpp"
#include "libcompose/kernels/arguments.hpp"

namespace aperture::compose {

/// For few elements, threads cost more than they save.
inline int threads_for(const kernels::Walk& walk, const core::Cpu& cpu) {
    constexpr index_t least_parallel = 16384;
    return walk.count < least_parallel ? 1 : cpu.threads();
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

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::compose
