// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "libcore/gpu/cuda_check.hpp"

namespace aperture::compose {

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<CUgraph_st, DestroyGraph>;
using ReadyGraph = std::unique_ptr<CUgraphExec_st, DestroyGraph>;

inline OwnedGraph new_graph() {
    cudaGraph_t graph = nullptr;
    APERTURE_CUDA_TRY(cudaGraphCreate(&graph, 0));
    return OwnedGraph(graph);
}

inline ReadyGraph instantiate(const OwnedGraph& graph) {
    cudaGraphExec_t ready = nullptr;
    APERTURE_CUDA_TRY(cudaGraphInstantiate(&ready, graph.get(), 0));
    return ReadyGraph(ready);
}

}  // namespace aperture::compose
