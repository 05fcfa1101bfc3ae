"""ONNX Runtime's CANN provider as a client: run with the Python of its own environment, under ``hostacl run``."""
