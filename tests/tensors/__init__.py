"""Tests of data types and layouts."""
