// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/result_writers.hpp"

#include <algorithm>
#include <limits>

#include "aperture/core/timing.hpp"

namespace aperture::apps {

ResultWriters::ResultWriters(const BgsubOptions& options, const OutputDescription& description,
                             std::size_t room) {
    for (auto& output : open_outputs(options, description)) {
        writers_.push_back(std::make_unique<Writer>());
        writers_.back()->output = std::move(output);
    }
    for (const auto& writer : writers_) {
        Writer& w = *writer;
        w.worker.emplace(
            room,
            [&w](const Results& results) {
                const core::Stopwatch watch;
                w.output->write(*results);
                w.ms += watch.ms();
            },
            [&w] {
                const core::Stopwatch watch;
                if (auto file = w.output->finish()) {
                    file->sync();  // beside the others'
                    w.file.emplace(std::move(*file));
                }
                w.ms += watch.ms();
            });
    }
}

void ResultWriters::give(const Results& results) {
    for (const auto& writer : writers_) writer->worker->give(results);
}

void ResultWriters::drain() {
    for (const auto& writer : writers_) writer->worker->drain();
}

void ResultWriters::finish(media::OutputSet& outputs) {
    for (const auto& writer : writers_) writer->worker->end();
    for (const auto& writer : writers_) {
        writer->worker->wait();
        const core::Stopwatch watch;
        if (writer->file) outputs.add(std::move(*writer->file));
        writer->ms += watch.ms();
    }
}

index_t ResultWriters::frames_there() {
    index_t frames = std::numeric_limits<index_t>::max();
    for (const auto& writer : writers_) writer->worker->end();
    for (const auto& writer : writers_) {
        try {
            writer->worker->wait();
        } catch (const std::exception&) {
            // The first error is the one to report.
        }
        frames = std::min(frames, writer->output->frames_there());
    }
    return frames;
}

double ResultWriters::ms() const {
    double most = 0;
    for (const auto& writer : writers_) most = std::max(most, writer->ms);
    return most;
}

}  // namespace aperture::apps
