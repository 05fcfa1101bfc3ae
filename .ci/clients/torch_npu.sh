#!/usr/bin/env bash
# torch-npu, unmodified, on hostacl; and the gradient operators against torch itself, which is there, too.
source "$(dirname "$0")/../client.sh"

fill() { # torch's CPU build, from the configured index or its own; the registry's with CUDA (gigabytes) only where neither has it
    local pip="$venv/bin/pip"
    "$pip" install -q torch==2.13.0+cpu 2> /dev/null ||
        "$pip" install -q torch==2.13.0+cpu --retries 1 --extra-index-url https://download.pytorch.org/whl/cpu ||
        "$pip" install -q torch==2.13.0
    "$pip" install -q --no-deps torch-npu==2.13.0 # without what it asks for: its runtime comes with hostacl
    "$pip" install -q numpy pyyaml ml_dtypes click rich pytest expecttest
}

environment fill
install_hostacl
tests
timeout 300 "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/clients/torch_autograd # without torch-npu
