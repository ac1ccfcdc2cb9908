#!/bin/sh
# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# keep_resource_report.sh FOLDER COMMAND...: runs a compiler and writes ptxas' report on kernels
# (lines of -Xptxas -v) to FOLDER/OBJECT.ptxas instead of stderr.
folder=$1
shift
# Without a compiler cache, CMake may pass an empty word in its place.
[ -n "$1" ] || shift
object=
previous=
for word in "$@"; do
    [ "$previous" = -o ] && object=$word
    previous=$word
done
if [ -z "$object" ]; then
    exec "$@"
fi
mkdir -p "$folder"
said=$folder/$(basename "$object").said
"$@" 2>"$said"
status=$?
about='^ptxas info|^ +[0-9]+ bytes stack frame'
grep -E "$about" "$said" >"$folder/$(basename "$object").ptxas"
grep -vE "$about" "$said" >&2
rm -f "$said"
exit $status
