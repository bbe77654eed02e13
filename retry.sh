#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a command that needs the network, again after a pause if it fails or hangs:
#
#   ./retry.sh COMMAND [ARGUMENT...]
set -u

seconds=600 # for one try
for pause in 5 15 45 last; do
    timeout -k 10 "$seconds" "$@" && exit
    code=$?
    [ $code != 124 ] || echo "retry.sh: $1 was stopped after $seconds s" >&2
    [ "$pause" != last ] || break
    echo "retry.sh: failed with $code: $*; again in $pause s" >&2
    sleep "$pause"
done
echo "retry.sh: given up after 4 tries, the last of which failed with $code: $*" >&2
exit "$code"
