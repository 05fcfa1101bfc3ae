#!/usr/bin/env bash
# onnxruntime-cann, unmodified, on hostacl.
source "$(dirname "$0")/../client.sh"

fill() {
    "$venv/bin/pip" install -q 'numpy<2' onnxruntime-cann==1.24.4 'onnx<1.18' 'ml_dtypes<0.6' pytest click rich
}

environment fill
install_hostacl
"$venv/bin/pip" check
tests
