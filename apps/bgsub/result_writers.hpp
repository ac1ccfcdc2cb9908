// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "apps/bgsub/output_files.hpp"
#include "apps/common/bounded_queue.hpp"

namespace aperture::apps {

/// Writes results while others are computed: each output in a thread of its own.
class ResultWriters {
  public:
    using Results = std::shared_ptr<const ResultFrames>;

    /// Opens the outputs. Each writes at most `room` results later than they are given.
    ResultWriters(const BgsubOptions& options, const OutputDescription& description,
                  std::size_t room);

    /// Waits for room. Throws the error of an output, then or later.
    void give(const Results& results);
    /// Waits until what was given is written.
    void drain();
    /// Completes the outputs and adds their files to `outputs`.
    void finish(media::OutputSet& outputs);
    /// After an error: writes what was given, as far as that is possible. Returns the number of
    /// frames all of whose pictures exist.
    index_t frames_there();
    /// Time that the busiest output has worked; once they have finished.
    double ms() const;

  private:
    struct Writer {
        std::unique_ptr<ResultOutput> output;
        std::optional<media::AtomicFile> file;
        double ms = 0;
        std::optional<Worker<Results>> worker;  ///< last: it uses the others
    };
    std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace aperture::apps
