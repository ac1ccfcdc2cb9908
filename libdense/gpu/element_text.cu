// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "libcore/gpu/specialise.hpp"
#include "libdense/element_source.hpp"
#include "libdense/gpu/text_arguments.cuh"

namespace aperture::dense {

std::span<const core::KernelText> kernel_texts();

namespace {

static_assert(most_text_batches == sizeof(TextArguments::batches) / sizeof(TextArguments::Batch));
static_assert(most_text_parameters == sizeof(TextArguments::parameter) / sizeof(double));

TextArguments arguments_of(const ElementText& text) {
    TextArguments arguments{};
    arguments.problems = text.batches[0].problems;
    for (std::size_t b = 0; b < text.batches.size(); ++b) {
        const TextBatch& from = text.batches[b];
        TextArguments::Batch& to = arguments.batches[b];
        to.data = from.data;
        std::copy(from.strides.begin(), from.strides.end(), to.stride);
        std::copy(from.extents.begin(), from.extents.end(), to.extent);
    }
    for (std::size_t i = 0; i < text.parameters.size(); ++i) {
        arguments.parameter[i] = text.parameters[i].value;
    }
    return arguments;
}

/// Bytes of shared memory, as launch_elements counts them.
int shared_bytes(const ElementText& text) {
    const int problems = text.threads <= core::warp_size ? 128 / text.threads : 1;
    int bytes = text.threads <= core::warp_size ? 0 : text.threads / 32 * 16;
    for (const TextBatch& batch : text.batches) {
        const MatrixShape shape(batch);
        const bool direct =
            text.threads == 1 && (batch.strides[0] == 1 || shape.rows * shape.columns == 1);
        if (direct) continue;
        bytes += detail::element_tile_bytes(problems, static_cast<int>(shape.rows),
                                            static_cast<int>(shape.columns), text.threads,
                                            batch.type == NumberType::fp32 ? 4 : 8);
    }
    return bytes;
}

core::SpecialisedKernel<void(TextArguments)> kernel_of(core::Gpu& gpu, const ElementText& text) {
    try {
        return core::specialise<void(TextArguments)>(
            gpu, {"text", {core::kernel_texts(), kernel_texts()}, element_source(text)},
            "aperture::dense::text_kernel");
    } catch (const core::CompileError& error) {
        throw core::InvalidArgument("for_each_element: the body does not compile:\n" + error.log());
    }
}

}  // namespace

void for_each_element(core::Gpu& gpu, const ElementText& text) {
    expects_text(text);
    if (text.batches[0].problems == 0) return;
    const int shared = shared_bytes(text);
    detail::expects_shared(gpu, shared);
    const auto kernel = kernel_of(gpu, text);
    if (!kernel) {
        throw core::DeviceError(
            "for_each_element: the run-time compiler (NVRTC), which a body that is text needs, is "
            "not available");
    }
    const int problems = text.threads <= core::warp_size ? 128 / text.threads : 1;
    core::launch(
        gpu, kernel,
        core::LaunchConfig{
            dim3(core::blocks_for(text.batches[0].problems, problems)),
            dim3(text.threads <= core::warp_size ? 128u : static_cast<unsigned>(text.threads)),
            static_cast<std::size_t>(shared)},
        arguments_of(text));
}

}  // namespace aperture::dense
