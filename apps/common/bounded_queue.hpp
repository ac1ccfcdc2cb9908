// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "aperture/core/executor.hpp"

namespace aperture::apps {

/// Passes items from one thread, the producer, to another, the consumer, in their order. It holds a
/// bounded number of items, so the faster thread waits for the slower one.
template <class T>
class BoundedQueue {
  public:
    /// `room`: the maximum number of items, at least 1.
    explicit BoundedQueue(std::size_t room) : room_(room) {}

    /// Producer: waits for room. Returns false if the consumer has closed the queue.
    bool wait_for_room() {
        std::unique_lock lock(mutex_);
        return wait_for_room(lock);
    }
    /// Producer: waits for room and appends an item. Returns false, without the item, if the
    /// consumer has closed the queue.
    bool push(T item) {
        std::unique_lock lock(mutex_);
        if (!wait_for_room(lock)) return false;
        items_.push_back(std::move(item));
        changed_.notify_all();
        return true;
    }
    /// Producer: waits until the consumer has removed all items, or has closed the queue.
    void drain() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || items_.empty(); });
    }
    /// Producer: no item follows. If there is an `error`, the consumer receives it after the items.
    void end(std::exception_ptr error = nullptr) {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        error_ = std::move(error);
        changed_.notify_all();
    }

    /// Consumer: waits for the first item, which keeps its room until `pop`; null at the end.
    /// Throws the producer's error in place of the end.
    T* front() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || !items_.empty(); });
        if (!items_.empty()) return &items_.front();
        if (error_) std::rethrow_exception(error_);
        return nullptr;
    }
    /// Consumer: removes the first item.
    void pop() {
        const std::lock_guard lock(mutex_);
        items_.pop_front();
        changed_.notify_all();
    }
    /// Consumer: takes no more items; later ones are refused.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

  private:
    bool wait_for_room(std::unique_lock<std::mutex>& lock) {
        changed_.wait(lock, [&] { return closed_ || items_.size() < room_; });
        return !closed_;
    }

    std::size_t room_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> items_;
    bool ended_ = false;
    bool closed_ = false;
    std::exception_ptr error_;
};

/// Calls a function in a thread of its own ahead of the use of its results.
template <class T>
class ReadAhead {
  public:
    /// `next` returns nothing at the end. At most `room` results wait to be used or are being made.
    ReadAhead(std::size_t room, std::function<std::optional<T>()> next)
        : queue_(room), thread_([this, next = std::move(next)] { read(next); }) {}
    /// Waits for the call in progress.
    ~ReadAhead() { queue_.close(); }
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Waits for the next result; nothing at the end. Throws what the function has thrown, after
    /// the results before.
    std::optional<T> next() {
        std::optional<T> result;
        use_next([&](T item) { result.emplace(std::move(item)); });
        return result;
    }
    /// The same, as use(result), before whose end no other result is begun in its room; false at
    /// the end.
    template <class Use>
    bool use_next(const Use& use) {
        T* const item = queue_.front();
        if (item == nullptr) return false;
        use(std::move(*item));
        queue_.pop();
        return true;
    }

  private:
    void read(const std::function<std::optional<T>()>& next) {
        core::share_processors();
        try {
            while (queue_.wait_for_room()) {
                std::optional<T> item = next();
                if (!item) return queue_.end();
                queue_.push(std::move(*item));
            }
        } catch (...) {
            queue_.end(std::current_exception());
        }
    }

    BoundedQueue<T> queue_;
    std::jthread thread_;
};

/// Works on items in a thread of its own, in the order in which they are given.
template <class T>
class Worker {
  public:
    /// At most `room` items wait or are worked on. `finish` is called after the last item.
    Worker(std::size_t room, std::function<void(const T&)> work, std::function<void()> finish)
        : queue_(room), thread_([this, work = std::move(work), finish = std::move(finish)] {
              run(work, finish);
          }) {}
    /// Waits for the item in work and abandons the others.
    ~Worker() {
        abandoned_ = true;
        queue_.end();
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Waits for room for an item. Throws what the work on an earlier one has thrown.
    void give(T item) {
        if (!queue_.push(std::move(item))) wait();
    }
    /// Waits until the work given so far is done, or has thrown.
    void drain() { queue_.drain(); }
    /// No item follows. Returns at once.
    void end() { queue_.end(); }
    /// Waits until all work is done; requires `end`, or that the work has thrown. Throws what it
    /// has thrown.
    void wait() {
        if (thread_.joinable()) thread_.join();
        if (error_) std::rethrow_exception(error_);
    }

  private:
    void run(const std::function<void(const T&)>& work, const std::function<void()>& finish) {
        core::share_processors();
        try {
            for (const T* item = nullptr; (item = queue_.front()) != nullptr; queue_.pop()) {
                if (abandoned_) return;
                work(*item);
            }
            if (!abandoned_) finish();
        } catch (...) {
            error_ = std::current_exception();
        }
        queue_.close();
    }

    BoundedQueue<T> queue_;
    std::atomic<bool> abandoned_ = false;
    std::exception_ptr error_;  ///< read after the thread has ended
    std::jthread thread_;
};

}  // namespace aperture::apps
