// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "aperture/compose/executable.hpp"
#include "aperture/compose/plan.hpp"

/// The choice of a plan by trials on the caller's data.
namespace aperture::compose {

/// What this machine can do: limits of the device, and rates that are measured once and then taken
/// from the process or the wisdom file (Tuning::wisdom by default). It takes about a tenth of a
/// second, and on a GPU half a GB for that time.
template <class Executor>
Machine measured_machine(Executor& executor);

/// How far a plan is sought.
enum class Tune {
    off,          ///< the one that is predicted to be fastest
    incremental,  ///< the one that is remembered, else the fastest of some that are tried
    full,         ///< some are tried, the one that is remembered too
};

struct Tuning {
    /// By default $APERTURE_TUNE, or incremental where that is not set.
    std::optional<Tune> tune{};
    /// The file of plans that are remembered, by default $APERTURE_WISDOM or wisdom/plans.jsonl in
    /// the user's cache folder. One that cannot be read or written is as if it were empty.
    std::filesystem::path wisdom{};
    /// Nothing is written into it.
    bool read_only = false;
    /// Plans that are tried, at least 1.
    std::size_t most_plans = 8;
    /// For making them ready and trying them. The first one's first run may take longer.
    double most_seconds = 5;
    Tier tier = Tier::automatic;
};

template <class Executor>
struct Tuned {
    Executable<Executor> executable;
    Machine machine;              ///< of which predictions are
    std::size_t plans_tried = 0;  ///< 0 if the plan is remembered or the only one
    double measured_seconds = 0;  ///< of a run, now or when the plan was tried; 0 if it was not
};

/// Chooses a plan and runs it once: what memory in place and results hold then is that of one run,
/// as by Executable::run, whose errors are these. Plans are tried on the same memory, in turn; of
/// memory in place there is a copy meanwhile. The plan of Fusion::thesis, or the one that is
/// remembered, stays unless another is 5 % faster. Waits for a GPU.
template <class Executor>
Tuned<Executor> run_tuned(Executor& executor, const Program& program, const Registry& registry,
                          const Arguments& arguments, std::span<const Argument> results,
                          const Tuning& tuning = {});

}  // namespace aperture::compose
