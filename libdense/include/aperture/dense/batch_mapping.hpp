// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which threads of a GPU have a problem of a batch.
namespace aperture::dense {

enum class Mapping {
    automatic,
    columns,  ///< a thread, or a group of 2 to 32 that share its columns, in registers
    rows,     ///< a group of 2 to 32 lanes with a row each, in registers
    block,    ///< a block, in shared memory
    walk,     ///< a block, which walks the parts of a long vector (Ha et al. 2013, section III-D)
    grid,     ///< all blocks, each with a part of one long vector after the other
};

/// Makes the functions of libdense use one mapping where they have it, for measurements: on the
/// calling thread, while this exists.
class ForcedMapping {
  public:
    explicit ForcedMapping(Mapping mapping) : before_(current()) { current() = mapping; }
    ~ForcedMapping() { current() = before_; }
    ForcedMapping(const ForcedMapping&) = delete;
    ForcedMapping& operator=(const ForcedMapping&) = delete;

    static Mapping& current() {
        static thread_local Mapping mapping = Mapping::automatic;
        return mapping;
    }

  private:
    Mapping before_;
};

}  // namespace aperture::dense
