// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "aperture/compose/plan.hpp"

namespace aperture::compose {

/// A plan that was the fastest of those that were tried.
struct Remembered {
    CallsOfKernels kernels;
    double predicted_seconds = 0;
    double measured_seconds = 0;
    std::vector<int> loop_kernels{};
};

/// What searches and measurements found, in a file that processes share: an object of JSON a line,
/// the last one of a key counts. It only saves time: what cannot be read is as if it were not
/// there, what cannot be written is not kept, and neither is an error. Whoever uses a plan from
/// there validates it.
class Wisdom {
  public:
    /// An empty path stands for no file.
    explicit Wisdom(std::filesystem::path file, bool read_only = false)
        : file_(std::move(file)), read_only_(read_only) {}

    /// The plan of the program, or of one with the same text but for extents that are the same when
    /// rounded up to a power of two.
    std::optional<Remembered> plan(const std::string& device, const Program& program) const;
    void keep(const std::string& device, const Program& program, const Remembered& plan) const;

    /// Sets the measured numbers of a machine; false, and nothing is set, if they are not there.
    bool rates(const std::string& device, Machine& machine) const;
    void keep_rates(const std::string& device, const Machine& machine) const;

  private:
    std::string contents() const;
    void append(std::string line) const;

    std::filesystem::path file_;
    bool read_only_;
};

/// $APERTURE_WISDOM, or wisdom/plans.jsonl in the user's CacheFolder; empty where there is none.
std::filesystem::path usual_wisdom_file();

}  // namespace aperture::compose
