// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "aperture/compose/plan.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"

namespace aperture::compose {

/// Dense memory in C order, for a symbol.
struct Argument {
    void* data = nullptr;
    Type type{};
    bool is_constant = false;  ///< The memory cannot be overwritten.
};
using Arguments = std::map<std::string, Argument>;

template <class T>
Argument argument(T* data, const std::vector<index_t>& extents) {
    using Entry = std::remove_const_t<T>;
    return {const_cast<Entry*>(data),
            extents.empty() ? scalar(dtype_of<Entry>()) : array(dtype_of<Entry>(), extents),
            std::is_const_v<T>};
}

/// How kernels are computed.
enum class Tier {
    automatic,    ///< compiled if this machine can, else interpreted
    interpreted,  ///< a call after the other, on pieces of rows; on a Cpu only
    compiled,     ///< all calls of a kernel for an element, as machine code
};

class LaneRuns;

/// A plan made ready for an executor; keeps the memory of the program's own symbols from one run to
/// the next. Results are the same bits for every plan and tier. Belongs to one thread at a time.
template <class Executor>
class Executable {
  public:
    /// Compiles kernels, or takes them from the cache. Throws InvalidArgument for Tier::compiled
    /// where there is no compiler.
    Executable(Executor& executor, Plan plan, Tier tier = Tier::automatic);
    ~Executable();
    Executable(Executable&&) noexcept;
    Executable& operator=(Executable&&) noexcept;

    /// Reads inputs, overwrites symbols in place, and fills `results`, one for each value that the
    /// program returns. On a GPU, scalars that are inputs are read on the host, everything else is
    /// device memory, and the call is asynchronous unless the program has a while. Throws
    /// InvalidArgument if an argument is missing, has another type or shares memory with one that
    /// is written, if memory to be written is constant, and if a loop does not end.
    void run(Executor& executor, const Arguments& arguments, std::span<const Argument> results);

    /// Runs as `run` does, but kernel after kernel, and waits for each. Returns the mean time of
    /// each by its number; 0 of those that did not run or exchange memory. On a GPU launches that a
    /// graph hides count, too.
    std::vector<double> kernel_seconds(Executor& executor, const Arguments& arguments,
                                       std::span<const Argument> results);

    const Plan& plan() const;
    /// Whether kernels are machine code, and if not why.
    const std::string& reason_of_interpretation() const;

  private:
    friend class LaneRuns;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::compose
