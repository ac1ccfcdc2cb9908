// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/compose/plan.hpp"

/// Sweeps: a program runs for many values of its parameters, and computes once what all values
/// share. Source: Ino, Shigeoka, Okuyama, Motokubota & Hagihara 2013.
namespace aperture::compose {

/// What the tasks of a sweep access, a task for each value (section 4.3 of the paper).
struct SweepTraits {
    bool similar = false;     ///< Tasks access the same relative addresses at the same time.
    bool continuous = false;  ///< A task accesses neighbouring addresses at the same time.
    double common_bytes = 0;  ///< that all tasks read
    double own_bytes = 0;     ///< that a task reads and writes besides
    /// Of `own_bytes`, those that are arranged for interleaved tasks, before or after.
    double arranged_bytes = 0;
    double shared_bytes = 0;  ///< that a block of a task keeps on chip
    int launches = 1;         ///< of kernels, of a task
    index_t tasks = 1;
};

/// How the tasks of a sweep run.
enum class Scheme {
    naive,        ///< one after the other
    interleaved,  ///< `width` at a time, a lane each: entry i of all of them is contiguous
};

struct SchemeChoice {
    Scheme scheme = Scheme::naive;
    int width = 1;  ///< tasks at a time: 1 or 32
    std::string reason;
};

/// The paper's guideline (section 4.3). Interleaved tasks where these access memory alike, but each
/// of them here and there; naive ones in the opposite case, and where 32 tasks do not fit in the
/// device's memory. If both or neither coalesce, what is predicted to take less time: interleaved
/// tasks read common data once and have a 32nd of the launches, but are arranged.
SchemeChoice choose_scheme(const SweepTraits& traits, const Machine& device);

/// How the values of a sweep are dealt out.
enum class SweepAxis {
    /// One program has values as problems of a batch, or as entries of an array: lanes of registers
    /// on a CPU, threads or groups of threads on a GPU. Conditions may depend on a parameter on a
    /// CPU alone.
    lanes,
    /// A thread of a CPU runs a value. Blocks of a GPU's grid run at most 32 values.
    side_by_side,
    one_by_one,  ///< the whole device for each value
};
std::string_view name_of(SweepAxis axis);

struct SweepOptions {
    Fusion fusion = Fusion::thesis;
    Tier tier = Tier::automatic;
    /// By default: lanes where choose_scheme says interleaved and there is such a program. Else
    /// side by side, on a CPU if the kernels are small, or if each thread has a value and all fit
    /// in the cache; on a GPU if two values or more fit. Else one by one.
    std::optional<SweepAxis> axis{};
    /// By default measured_machine.
    std::optional<Machine> machine{};
};

/// A value for which a loop did not end.
struct FailedValue {
    index_t number = 0;  ///< of the value, from 0
    std::string message;
};

struct Swept {
    SweepAxis axis = SweepAxis::one_by_one;
    SchemeChoice scheme;
    std::vector<FailedValue> failed;  ///< in the order of values
};

/// A program made ready for sweeps: runs for each of several values of parameters, which are
/// scalars that it takes as inputs. Keeps machine code and memory from one run to the next. Belongs
/// to one thread at a time.
///
/// Calls that no parameter reaches run once, but for those in a loop or branch that has others; of
/// a loop also those that compute the same each time, if that takes longer than to load the result.
/// Results have the bits of single runs.
template <class Executor>
class Sweep {
  public:
    /// Throws InvalidArgument for programs that are wrong or overwrite arguments, and for
    /// parameters that are no scalar inputs or reach no result. Keeps a copy of the registry, whose
    /// operations may prepare calls on several threads at a time.
    Sweep(Executor& executor, const Program& program, const Registry& registry,
          std::vector<std::string> parameters, const SweepOptions& options = {});
    ~Sweep();
    Sweep(Sweep&&) noexcept;
    Sweep& operator=(Sweep&&) noexcept;

    /// `arguments` have an array of values, in host memory, for each parameter, and the program's
    /// other inputs; number i of all parameters is a point. Results that a parameter reaches have
    /// memory for all values, one after the other, and the type of one. A value for which a loop
    /// does not end is reported; its results are NaN, zero of integers, or false. Waits for a GPU.
    /// Throws InvalidArgument for lists that are empty or of different lengths, and as
    /// Executable::run does for other arguments.
    Swept run(Executor& executor, const Arguments& arguments, std::span<const Argument> results);

    /// How so many values would run, and why: the kernels that run once, and those of each value or
    /// of all lanes.
    std::string explain(const Executor& executor, index_t values) const;

    /// For each value that the program returns, whether a parameter reaches it.
    const std::vector<bool>& reached() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::compose
