// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aperture/core/array.hpp"

namespace aperture::core {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ExpectsShape, AcceptsWhatIsRequired) {
    Array<float, 3> array({2, 3, 4});
    const View<float, 3, Host> whole = array;
    EXPECT_NO_THROW(expects_shape("array", whole, {2, 3, 4}, Strides::dense));
    EXPECT_NO_THROW(expects_shape("array", whole.slice(1, 0, 2), {2, 2, 4}, Strides::unit_last));
    EXPECT_NO_THROW(expects_shape("array", whole.slice(2, 0, 2), {2, 3, 2}, Strides::unit_last));
    EXPECT_NO_THROW(expects_shape("array", whole.slice(0, 0, 0), {0, 3, 4}, Strides::dense));
}

TEST(ExpectsShape, SaysWhatIsThereAndWhatMustBe) {
    Array<float, 3> array({2, 3, 4});
    View<float, 3, Host> view = array;
    EXPECT_THAT(
        [&] {
            expects_shape("cube", view, {2, 3, 5});
        },
        ThrowsMessage<InvalidArgument>("cube is 2 x 3 x 4, must be 2 x 3 x 5"));
    EXPECT_THAT(
        [&] {
            expects_shape("cube", view.slice(1, 0, 2), {2, 2, 4}, Strides::dense);
        },
        ThrowsMessage<InvalidArgument>(HasSubstr("strides 12 x 4 x 1")));
    view.extent[2] = 2;
    view.stride[2] = 2;
    EXPECT_THAT(
        [&] {
            expects_shape("cube", view, {2, 3, 2}, Strides::unit_last);
        },
        ThrowsMessage<InvalidArgument>("cube: stride 2 of the last extent, must be 1"));
    EXPECT_NO_THROW(expects_shape("cube", view, {2, 3, 2}));
}

}  // namespace
}  // namespace aperture::core
