// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <future>
#include <map>
#include <mutex>

namespace aperture::core {

/// Values by their keys, each made by the thread that first wants it. Others that want the same one
/// wait for it; values of different keys are made at the same time. Thread-safe.
template <class Key, class Value>
class OncePerKey {
  public:
    /// The value of a key: `make()` the first time. What `make` throws goes to those who wait, too,
    /// and nothing is kept, so that a later call tries again. `make` must not ask for its own key.
    template <class Make>
    const Value& get(const Key& key, const Make& make) {
        std::unique_lock lock(mutex_);
        const auto [entry, is_new] = values_.try_emplace(key);
        if (!is_new) {
            const std::shared_future<Value> others = entry->second;
            lock.unlock();
            return others.get();
        }
        std::promise<Value> promise;
        const std::shared_future<Value> value = entry->second = promise.get_future().share();
        lock.unlock();
        try {
            promise.set_value(make());
        } catch (...) {
            lock.lock();
            values_.erase(key);
            lock.unlock();
            promise.set_exception(std::current_exception());
        }
        return value.get();
    }

  private:
    std::mutex mutex_;
    std::map<Key, std::shared_future<Value>> values_;
};

}  // namespace aperture::core
