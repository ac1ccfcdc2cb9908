// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/array.hpp"

namespace aperture::compose {

/// Throws InvalidArgument if arguments or results are missing, have other types than their symbols,
/// no memory, or share memory that is written.
void validate(const Program& program, const Arguments& arguments,
              std::span<const Argument> results);

/// The values that a program returns.
const std::vector<SymbolId>& returned(const Program& program);

/// Whether a symbol lies in memory of the caller: arguments, and local symbols that are returned.
bool is_callers(const Program& program, SymbolId id);

/// Where each symbol lies at the start of a run: the caller's symbols in its memory, the others as
/// `own` says.
std::vector<void*> homes(const Program& program, const Arguments& arguments,
                         std::span<const Argument> results, std::vector<void*> own);

/// Symbols that kernels of a plan load or store, or that callers see: others need no memory.
std::vector<bool> symbols_in_memory(const Plan& plan);

/// Host memory of a program's symbols.
class HostMemory {
  public:
    explicit HostMemory(const Plan& plan);

    /// Takes the caller's memory, which `validate` has seen.
    void bind(const Arguments& arguments, std::span<const Argument> results);
    /// One pointer a symbol; null where it has no memory.
    void* const* symbols() const { return now_.data(); }
    void* of(SymbolId id) const { return now_[static_cast<std::size_t>(id)]; }

    template <class T>
    T load(SymbolId id) const {
        T value{};
        std::memcpy(&value, of(id), sizeof(value));
        return value;
    }
    template <class T>
    void store(SymbolId id, T value) const {
        std::memcpy(of(id), &value, sizeof(value));
    }

    /// Of a kernel that only copies what nobody reads later.
    void exchange(const Kernel& kernel);
    /// Puts values into the caller's memory that lie elsewhere.
    void finish(std::span<const Argument> results);

  private:
    const Program& program_;
    std::vector<core::Array<std::byte, 1, core::Host>> own_;
    std::vector<void*> home_, now_;
};

}  // namespace aperture::compose
