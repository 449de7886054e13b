# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Signs of life of long commands, on what is stderr when this file is read.

signs_every=${SIGNS_EVERY:-5} # seconds
exec 7>&2

# with_signs NAME COMMAND...: runs the command, and says every $signs_every seconds that it still
# runs. The output of the command can be redirected.
with_signs() {
    local name=$1 code=0 start=$SECONDS ticker
    shift
    # It ends with this script, however that ends. A last `sleep` may outlive it, so it must not
    # hold the caller's lock (9) or output.
    (
        while sleep "$signs_every" 7>&- && kill -0 $$; do
            echo "setup: $name: $((SECONDS - start)) s so far" >&7
        done
    ) </dev/null >/dev/null 2>&1 9>&- &
    ticker=$!
    "$@" || code=$?
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    return "$code"
}
