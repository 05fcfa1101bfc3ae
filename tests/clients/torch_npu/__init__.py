"""torch-npu, unmodified, against CPU torch in the same process."""
