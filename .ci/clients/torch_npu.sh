#!/usr/bin/env bash
# torch-npu, unmodified, on hostacl: an environment of its own, kept in the cache; hostacl is installed into it anew each time.
# HOSTACL_WHEEL names a wheel for this Python; without it one is built.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1
wanted='torch==2.13.0 numpy pyyaml ml_dtypes pytest click rich'
alone='torch-npu==2.13.0' # without what it asks for: its runtime comes with hostacl

python= # torch-npu 2.13.0 is tried with 3.11; the Python that CI builds with comes first
for candidate in .venv/bin/python python3.11 "$HOME"/.pyenv/versions/3.11.*/bin/python python3; do
    command -v "$candidate" > /dev/null || continue
    "$candidate" -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2> /dev/null || continue
    python=$candidate
    break
done
[ -n "$python" ] || { echo "torch_npu.sh: no Python 3.10 to 3.13 that can make a venv" >&2; exit 1; }

tag=$("$python" -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
venv=${HOSTACL_CI_CACHE:-$PWD/.ci/cache}/torch_npu-$tag
if [ "$(cat "$venv/wanted" 2> /dev/null)" != "$wanted $alone" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    read -ra packages <<< "$wanted"
    "$venv/bin/pip" install -q "${packages[@]}"
    "$venv/bin/pip" install -q --no-deps "$alone"
    echo "$wanted $alone" > "$venv/wanted"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheel=${HOSTACL_WHEEL:-}
if [ -z "$wheel" ]; then
    "$python" -m pip wheel -q --no-deps -w "$work" .
    wheel=$(echo "$work"/hostacl-*.whl)
fi
"$venv/bin/pip" install -q --force-reinstall --no-deps "$wheel"
timeout 480 "$venv/bin/hostacl" run "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/clients/torch_npu
