// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "aperture/compose/plan.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

namespace aperture::compose {

/// Dense memory in C order, for a symbol.
struct Argument {
    void* data = nullptr;
    Type type{};
};
using Arguments = std::map<std::string, Argument>;

template <class T>
Argument argument(T* data, const std::vector<index_t>& extents) {
    return {const_cast<std::remove_const_t<T>*>(data),
            extents.empty() ? scalar(dtype_of<std::remove_const_t<T>>())
                            : array(dtype_of<std::remove_const_t<T>>(), extents)};
}

/// Runs a plan on a CPU, a piece of a row after the other. Keeps the memory of local symbols from
/// one run to the next. The plan, its program and the registry must outlive it.
class Interpreter {
  public:
    Interpreter(const Plan& plan, const Registry& registry);
    ~Interpreter();
    Interpreter(Interpreter&&) noexcept;
    Interpreter& operator=(Interpreter&&) noexcept;

    /// Reads inputs, overwrites symbols in place, and fills `results`, one for each value that the
    /// program returns. Throws InvalidArgument if an argument is missing or has another type.
    void run(core::Cpu& cpu, const Arguments& arguments, std::span<const Argument> results);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::compose
