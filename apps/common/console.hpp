// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "aperture/core/error.hpp"

namespace aperture::apps {

/// Suffix of a noun after a number: "1 pair", "2 pairs".
constexpr const char* plural(long long count) { return count == 1 ? "" : "s"; }

/// "584x388" for a shape of 388 rows and 584 columns.
template <class Shape>
std::string size_text(const Shape& shape) {
    const auto& [rows, columns] = shape;
    return core::text(columns, 'x', rows);
}

/// "b.png: 584x388 pixels, but a.png has 640x480", for images that must have one size.
template <class Shape>
std::string size_mismatch(const std::string& name, const Shape& shape,
                          const std::string& first_name, const Shape& first) {
    return core::text(name, ": ", size_text(shape), " pixels, but ", first_name, " has ",
                      size_text(first));
}

/// "pair 3 of 45, 12.0 pairs/s, 4 s left" for `what` "pair". Without "of 45" and "4 s left" if the
/// number of all is not known, that is, less than `done`.
std::string progress_text(const std::string& what, long long done, long long all, double seconds);

/// A program's messages on stderr: notes and, on a terminal, a progress line for longer work. A
/// quiet console prints only warnings, a verbose one also details.
class Console {
  public:
    explicit Console(std::string program, bool quiet = false, bool verbose = false);
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    /// Prints one line, "program: text".
    void note(const std::string& text);
    /// Prints a line if the console is verbose.
    void detail(const std::string& text);
    /// Prints and keeps "warning: text", even if the console is quiet.
    void warn(const std::string& text);
    /// Warns that the result is incomplete: with --strict the program exits with status 3.
    void warn_incomplete(const std::string& text);
    /// Whether any result was incomplete so far.
    bool incomplete() const { return incomplete_; }
    /// The texts of all warnings so far.
    const std::vector<std::string>& warnings() const { return warnings_; }
    /// Names the work that starts now and lasts until the next phase, `done` or destruction.
    void phase(const std::string& text);
    /// Shows the progress of the current phase.
    void progress(const std::string& text);
    void done() { phase(""); }

  private:
    void print(const std::string& text);
    void show_progress();
    void clear_line();

    std::string program_;
    bool quiet_;
    bool verbose_;
    std::vector<std::string> warnings_;
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
