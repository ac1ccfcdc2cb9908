// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "libcompose/kernels/arguments.hpp"

/// What decides inside a graph which of its kernels run, and moves symbols' memory. All calls only
/// submit to a stream.
namespace aperture::compose::control {

using core::index_t;

/// Of one loop.
struct LoopState {
    long long times;
    int left;  ///< by a break
};

/// A conditional node runs its first graph if `*flag` holds, else its second.
void test(cudaStream_t stream, cudaGraphConditionalHandle node, const bool* flag);
/// ..., if the loop has not been left.
void test_not_left(cudaStream_t stream, cudaGraphConditionalHandle node, const LoopState* loop);
void leave(cudaStream_t stream, LoopState* loop);

/// Before and at the end of the body of `for variable in count`.
void begin_count(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                 long long* variable, long long count);
void next_count(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                long long* variable, long long count);
/// The same of `while condition limit limit`. `*unended` becomes true after `limit` times.
void begin_while(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                 const bool* condition);
void next_while(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                const bool* condition, long long limit, int* unended);

void set(cudaStream_t stream, long long* variable, long long value);

/// Of several values that are computed side by side.
template <class T>
struct OfValues {
    T* of[kernels::most_values];
};
void set(cudaStream_t stream, const OfValues<long long>& variables, int count, long long value);
/// Copies the first `count` flags into `to`, one after the other.
void gather(cudaStream_t stream, const OfValues<const bool>& flags, int count, bool* to);

/// Exchanges two entries of a table of symbols' memory.
void exchange(cudaStream_t stream, void** table, int a, int b);
/// Copies what lies at `*from` to `*to`, unless they are the same.
void copy(cudaStream_t stream, const void* const* from, void* const* to, index_t bytes);

}  // namespace aperture::compose::control
