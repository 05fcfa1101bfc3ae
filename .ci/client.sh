# What the scripts of .ci/clients share; they source it. The program under test has an environment of its own, kept in the cache; hostacl is
# installed into it anew each time. HOSTACL_WHEEL names a wheel for this Python; without it one is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1
client=$(basename "$0" .sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python_for_client() { # a Python with wheels of the programs, 3.10 to 3.13; the one that CI builds with comes first
    local candidate
    for candidate in .venv/bin/python python3.11 "$HOME"/.pyenv/versions/3.11.*/bin/python python3; do
        command -v "$candidate" > /dev/null || continue
        "$candidate" -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2> /dev/null || continue
        echo "$candidate"
        return
    done
    echo "$client.sh: no Python 3.10 to 3.13 that can make a venv" >&2
    return 1
}

environment() { # environment FUNCTION: sets $venv; the function fills it, called when it or its own text is new
    local tag
    tag=$("$python" -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
    venv=${HOSTACL_CI_CACHE:-$PWD/.ci/cache}/$client-$tag
    [ "$(cat "$venv/filled" 2> /dev/null)" = "$(declare -f "$1")" ] && return
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$1"
    declare -f "$1" > "$venv/filled"
}

install_hostacl() { # the wheel that is given, or one built now
    local wheel=${HOSTACL_WHEEL:-}
    if [ -z "$wheel" ]; then
        "$python" -m pip wheel -q --no-deps -w "$work" .
        wheel=$(echo "$work"/hostacl-*.whl)
    fi
    "$venv/bin/pip" install -q --force-reinstall --no-deps "$wheel"
}

under() { # under OPTION...: the client's tests under `hostacl run` with these options, at most eleven minutes
    timeout 660 "$venv/bin/hostacl" run "$@" "$venv/bin/python" -m pytest -q -p no:cacheprovider "tests/clients/$client"
}

tests() { # the client's tests, then again with the rules of use: what those find stands on the client's page
    under
    under --check --report none --report-file "$work/report-%p.json"
    "$venv/bin/python" .ci/reports.py "docs/clients/${client//_/-}.md" "$work"/report-*.json
}

python=$(python_for_client)
