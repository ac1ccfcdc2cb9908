// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/gpu/graph.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "libcompose/loops.hpp"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::compose {
namespace {

/// Whether a step, or one of its branches, leaves the loop that it is in.
bool may_leave(const Step& step) {
    const auto any = [](const std::vector<Step>& steps) {
        return std::any_of(steps.begin(), steps.end(), may_leave);
    };
    const auto* const branch = std::get_if<Branch>(&step.what);
    return std::holds_alternative<Break>(step.what) ||
           (branch != nullptr && (any(branch->body) || any(branch->otherwise)));
}

bool is_known(const Plan& plan) { return is_unrolled(*plan.program, plan.steps); }

/// Walks through a plan whose loops are counted, in the order of a run.
template <class OnKernel, class OnCount>
void walk(const Program& program, const std::vector<Step>& steps, const OnKernel& on_kernel,
          const OnCount& on_count) {
    for (const Step& step : steps) {
        if (const auto* kernel = std::get_if<Kernel>(&step.what)) on_kernel(*kernel);
        if (const auto* repeat = std::get_if<Repeat>(&step.what)) {
            for (std::int64_t i = 0; i < program[repeat->loop->count].value; ++i) {
                on_count(repeat->loop->variable, i);
                walk(program, repeat->body, on_kernel, on_count);
            }
        }
    }
}

class Stream {
  public:
    Stream() { APERTURE_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { cudaStreamDestroy(stream_); }
    cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

/// What `submit` submits to the stream that it gets becomes nodes of the graph.
template <class Submit>
void capture(cudaGraph_t graph, const Submit& submit) {
    const Stream stream;
    APERTURE_CUDA_TRY(cudaStreamBeginCaptureToGraph(stream.get(), graph, nullptr, nullptr, 0,
                                                    cudaStreamCaptureModeRelaxed));
    submit(stream.get());
    cudaGraph_t captured = nullptr;
    APERTURE_CUDA_TRY(cudaStreamEndCapture(stream.get(), &captured));
}

/// A node, submitted to a stream that captures, whose own graphs run as a condition says: `begin`
/// submits what sets it first; each of `bodies` submits a graph.
template <class Begin, class... Bodies>
void conditional(cudaStream_t stream, cudaGraphConditionalNodeType type, const Begin& begin,
                 const Bodies&... bodies) {
    cudaStreamCaptureStatus status{};
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* before = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    const auto read = [&] {
        APERTURE_CUDA_TRY(
            cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &before, &edges, &count));
    };
    read();
    cudaGraphConditionalHandle handle{};
    APERTURE_CUDA_TRY(cudaGraphConditionalHandleCreate(&handle, graph));
    begin(handle);
    read();
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = handle;
    parameters.conditional.type = type;
    parameters.conditional.size = sizeof...(bodies);
    cudaGraphNode_t node = nullptr;
    APERTURE_CUDA_TRY(cudaGraphAddNode(&node, graph, before, edges, count, &parameters));
    APERTURE_CUDA_TRY(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                                          cudaStreamSetCaptureDependencies));
    const cudaGraph_t* inner = parameters.conditional.phGraph_out;
    (capture(*inner++, [&](cudaStream_t into) { bodies(into, handle); }), ...);
}

/// Submits steps to streams that capture.
class Builder {
  public:
    Builder(const Plan& plan, const GpuKernels& kernels, const DeviceMemory& memory)
        : program_(*plan.program), kernels_(kernels), memory_(memory) {
        for (const Kernel* kernel : plan.kernels()) {
            read_.insert(kernel->loads.begin(), kernel->loads.end());
        }
    }

    void submit_known(cudaStream_t stream, const std::vector<Step>& steps,
                      const std::vector<Placement>& placements) {
        Placement now = placements.front();
        const auto row = [&] {
            const auto found = std::find(placements.begin(), placements.end(), now);
            return memory_.row(static_cast<std::size_t>(found - placements.begin()));
        };
        walk(
            program_, steps,
            [&](const Kernel& kernel) {
                if (kernel.exchanges) {
                    exchange(now, kernel);
                } else {
                    kernels_.launch(stream, kernel, row());
                }
            },
            [&](SymbolId variable, std::int64_t value) {
                if (read_.count(variable) == 0) return;
                control::set(stream, memory_.scalar<long long>(variable), value);
            });
        memory_.finish(stream, row(), &now);
    }

    void submit_decided(cudaStream_t stream, const std::vector<Step>& steps) {
        memory_.reset_changing_row(stream);
        APERTURE_CUDA_TRY(cudaMemsetAsync(memory_.unended(), 0, sizeof(int), stream));
        submit(stream, steps, 0, nullptr);
        memory_.finish(stream, memory_.changing_row(), nullptr);
    }

  private:
    /// Steps from `first` on, in a loop or none.
    void submit(cudaStream_t stream, const std::vector<Step>& steps, std::size_t first,
                control::LoopState* loop) {
        for (std::size_t i = first; i < steps.size(); ++i) {
            std::visit([&](const auto& what) { submit(stream, what, loop); }, steps[i].what);
            if (!may_leave(steps[i]) || i + 1 == steps.size()) continue;
            conditional(
                stream, cudaGraphCondTypeIf,
                [&](auto handle) { control::test_not_left(stream, handle, loop); },
                [&](cudaStream_t inner, auto) { submit(inner, steps, i + 1, loop); });
            return;
        }
    }
    void submit(cudaStream_t stream, const Kernel& kernel, control::LoopState*) {
        if (!kernel.exchanges) {
            kernels_.launch(stream, kernel, memory_.changing_row());
            return;
        }
        for (const PlannedCall& planned : kernel.calls) {
            control::exchange(stream, memory_.changing_row(), planned.call->results[0],
                              planned.call->operands[0]);
        }
    }
    bool submit_one_kernel(cudaStream_t stream, const LoopStep& loop) {
        if (!loop.in_one_kernel || !kernels_.has(loop)) return false;
        kernels_.launch(stream, loop, memory_.changing_row(), memory_.unended());
        return true;
    }
    void submit(cudaStream_t stream, const Repeat& repeat, control::LoopState*) {
        if (submit_one_kernel(stream, repeat)) return;
        control::LoopState* const loop = memory_.loop(loops_++);
        auto* const variable = memory_.scalar<long long>(repeat.loop->variable);
        const std::int64_t count = program_[repeat.loop->count].value;
        conditional(
            stream, cudaGraphCondTypeWhile,
            [&](auto handle) { control::begin_count(stream, handle, loop, variable, count); },
            [&](cudaStream_t inner, auto handle) {
                submit(inner, repeat.body, 0, loop);
                control::next_count(inner, handle, loop, variable, count);
            });
    }
    void submit(cudaStream_t stream, const RepeatWhile& repeat, control::LoopState*) {
        if (submit_one_kernel(stream, repeat)) return;
        control::LoopState* const loop = memory_.loop(loops_++);
        const auto* const condition = memory_.scalar<bool>(repeat.loop->condition);
        conditional(
            stream, cudaGraphCondTypeWhile,
            [&](auto handle) { control::begin_while(stream, handle, loop, condition); },
            [&](cudaStream_t inner, auto handle) {
                submit(inner, repeat.body, 0, loop);
                control::next_while(inner, handle, loop, condition, repeat.loop->limit,
                                    memory_.unended());
            });
    }
    void submit(cudaStream_t stream, const Branch& branch, control::LoopState* loop) {
        const auto* const flag = memory_.scalar<bool>(branch.branch->condition);
        const auto begin = [&](auto handle) { control::test(stream, handle, flag); };
        const auto body = [&](const std::vector<Step>& inner_steps) {
            return [&](cudaStream_t inner, auto) { submit(inner, inner_steps, 0, loop); };
        };
        if (branch.otherwise.empty()) {
            conditional(stream, cudaGraphCondTypeIf, begin, body(branch.body));
        } else {
            conditional(stream, cudaGraphCondTypeIf, begin, body(branch.body),
                        body(branch.otherwise));
        }
    }
    void submit(cudaStream_t stream, const Break&, control::LoopState* loop) {
        control::leave(stream, loop);
    }

    const Program& program_;
    const GpuKernels& kernels_;
    const DeviceMemory& memory_;
    std::set<SymbolId> read_;
    int loops_ = 0;
};

}  // namespace

std::vector<Placement> known_placements(const Plan& plan) {
    Placement now(plan.program->symbols.size());
    std::iota(now.begin(), now.end(), SymbolId{0});
    std::vector<Placement> all{now};
    if (!is_known(plan)) return all;
    walk(
        *plan.program, plan.steps,
        [&](const Kernel& kernel) {
            if (!kernel.exchanges) return;
            exchange(now, kernel);
            if (std::find(all.begin(), all.end(), now) == all.end()) all.push_back(now);
        },
        [](SymbolId, std::int64_t) {});
    return all;
}

int count_loops(const std::vector<Step>& steps) {
    int all = 0;
    for_each_loop(steps, [&](const Step&, const LoopStep&) { return ++all > 0; });
    return all;
}

Graph::Graph(const Plan& plan, const GpuKernels& kernels, const DeviceMemory& memory,
             const std::vector<Placement>& placements) {
    const OwnedGraph graph = new_graph();
    capture(graph.get(), [&](cudaStream_t stream) {
        Builder builder(plan, kernels, memory);
        if (is_known(plan)) {
            builder.submit_known(stream, plan.steps, placements);
        } else {
            builder.submit_decided(stream, plan.steps);
        }
    });
    graph_ = instantiate(graph);
}

void Graph::launch(cudaStream_t stream) const {
    APERTURE_CUDA_TRY(cudaGraphLaunch(graph_.get(), stream));
}

}  // namespace aperture::compose
