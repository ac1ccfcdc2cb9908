// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace aperture::apps {

/// Ending of a noun behind a number: "1 pair", "2 pairs".
constexpr const char* plural(long long count) { return count == 1 ? "" : "s"; }

/// What a program tells its user on stderr: notes, and on a terminal a progress line for work that
/// takes longer than a moment. A quiet console only warns.
class Console {
  public:
    Console(std::string program, bool quiet);
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    /// One line, "program: text".
    void note(const std::string& text);
    /// The same for what went wrong with a part of the work: a quiet console says it, too.
    void warn(const std::string& text);
    /// A warning that the result lacks something: with --strict the program ends with status 3.
    void warn_incomplete(const std::string& text);
    /// Whether anything was incomplete so far.
    bool incomplete() const { return incomplete_; }
    /// Names the work that begins now and goes on until the next phase, `done` or destruction.
    void phase(const std::string& text);
    /// Says where the work of this phase is; the phase goes on.
    void progress(const std::string& text);
    void done() { phase(""); }

  private:
    void show_progress();
    void clear_line();

    std::string program_;
    bool quiet_;
    std::atomic<bool> incomplete_ = false;
    bool line_shown_ = false;
    bool stopping_ = false;
    std::string phase_;
    std::chrono::steady_clock::time_point phase_start_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::thread ticker_;
};

}  // namespace aperture::apps
