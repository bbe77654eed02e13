#!/usr/bin/env bash
# The one door to building and testing libcuzk. `./build.sh help` lists the commands.
set -eu
cd "$(dirname "$0")"
