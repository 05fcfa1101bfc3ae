#!/usr/bin/env bash
# onnxruntime-cann, unmodified, on hostacl: an environment of its own, kept in the cache; hostacl is installed into it anew each time.
# HOSTACL_WHEEL names a wheel for this Python; without it one is built.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1
wanted='numpy<2 onnxruntime-cann==1.24.4 onnx<1.18 ml_dtypes<0.6 pytest'

python= # onnxruntime-cann 1.24.4 has wheels for 3.10 to 3.13; the Python that CI builds with comes first
for candidate in .venv/bin/python python3.11 "$HOME"/.pyenv/versions/3.11.*/bin/python python3; do
    command -v "$candidate" > /dev/null || continue
    "$candidate" -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2> /dev/null || continue
    python=$candidate
    break
done
[ -n "$python" ] || { echo "onnxruntime.sh: no Python 3.10 to 3.13 that can make a venv" >&2; exit 1; }

tag=$("$python" -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
venv=${HOSTACL_CI_CACHE:-$PWD/.ci/cache}/onnxruntime-$tag
if [ "$(cat "$venv/wanted" 2> /dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    read -ra packages <<< "$wanted"
    "$venv/bin/pip" install -q "${packages[@]}" click rich
    echo "$wanted" > "$venv/wanted"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheel=${HOSTACL_WHEEL:-}
if [ -z "$wheel" ]; then
    "$python" -m pip wheel -q --no-deps -w "$work" .
    wheel=$(echo "$work"/hostacl-*.whl)
fi
"$venv/bin/pip" install -q --force-reinstall --no-deps "$wheel"
"$venv/bin/pip" check
"$venv/bin/hostacl" run "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/clients/onnxruntime
