// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/batch_streaming.hpp"

namespace aperture::dense::detail {

void for_each_piece(core::Gpu& gpu, std::size_t device_bytes,
                    std::span<const StreamedBytes> operands,
                    const PieceFunction<core::Gpu>& function) {
    gpu.synchronize();
    index_t long_runs = 1;
    for (const StreamedBytes& operand : operands) {
        long_runs = std::max(long_runs, problems_of_long_runs(gpu, operand));
    }
    const PiecePlan plan = plan_pieces(operands, core::device_budget(gpu, device_bytes), long_runs);
    if (plan.problems == 0) return;
    std::vector<core::Gpu> others;
    std::vector<core::Gpu*> executors{&gpu};
    for (index_t i = 1; i < plan.in_flight; ++i) others.emplace_back(gpu.device());
    for (core::Gpu& other : others) {
        if (gpu.has_checkpoint()) other.set_checkpoint([&gpu] { gpu.checkpoint(); });
        executors.push_back(&other);
    }
    run_in_pieces<core::Gpu>(executors, operands, plan, [&](core::Gpu& on, auto pieces) {
        gpu.checkpoint();
        function(on, pieces);
    });
}

}  // namespace aperture::dense::detail
