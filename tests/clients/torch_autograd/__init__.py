"""Gradient operators against torch's autograd in float64, on the CPU."""
