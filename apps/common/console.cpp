// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/console.hpp"

#include <unistd.h>

#include <iomanip>
#include <iostream>
#include <sstream>
#include <utility>

namespace aperture::apps {
namespace {

using namespace std::chrono_literals;
constexpr auto quiet_start = 500ms;
constexpr auto tick = 250ms;

}  // namespace

std::string progress_text(const std::string& what, long long done, long long all, double seconds) {
    const double rate = static_cast<double>(done) / seconds;
    std::ostringstream words;
    words << what << ' ' << done;
    if (all >= done) words << " of " << all;
    words << std::fixed << std::setprecision(1) << ", " << rate << ' ' << what << "s/s";
    if (all >= done) {
        words << std::setprecision(0) << ", " << static_cast<double>(all - done) / rate
              << " s left";
    }
    return words.str();
}

Console::Console(std::string program, bool quiet, bool verbose)
    : program_(std::move(program)), quiet_(quiet), verbose_(verbose) {
    if (!quiet_ && isatty(STDERR_FILENO) != 0) ticker_ = std::thread([this] { show_progress(); });
}

Console::~Console() {
    if (!ticker_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        clear_line();
    }
    wake_.notify_all();
    ticker_.join();
}

void Console::note(const std::string& text) {
    if (!quiet_) print(text);
}

void Console::detail(const std::string& text) {
    if (verbose_) print(text);
}

void Console::warn(const std::string& text) {
    {
        const std::lock_guard lock(mutex_);
        warnings_.push_back(text);
    }
    print("warning: " + text);
}

void Console::warn_incomplete(const std::string& text) {
    incomplete_ = true;
    warn(text);
}

void Console::print(const std::string& text) {
    const std::lock_guard lock(mutex_);
    clear_line();
    std::cerr << program_ << ": " << text << '\n';
}

void Console::phase(const std::string& text) {
    const std::lock_guard lock(mutex_);
    clear_line();
    phase_ = text;
    phase_start_ = std::chrono::steady_clock::now();
}

void Console::progress(const std::string& text) {
    const std::lock_guard lock(mutex_);
    phase_ = text;
}

void Console::show_progress() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        wake_.wait_for(lock, tick);
        const auto elapsed = std::chrono::steady_clock::now() - phase_start_;
        if (stopping_ || phase_.empty() || elapsed < quiet_start) continue;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
        std::cerr << "\r\033[K" << program_ << ": " << phase_ << ", " << seconds << " s"
                  << std::flush;
        line_shown_ = true;
    }
}

void Console::clear_line() {
    if (line_shown_) std::cerr << "\r\033[K" << std::flush;
    line_shown_ = false;
}

}  // namespace aperture::apps
