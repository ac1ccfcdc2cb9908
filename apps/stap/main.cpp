// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/programs.hpp"

int main(int argc, char** argv) { return aperture::apps::stap_main(argc, argv); }
