"""Tests of the operator library, called as singleop calls it: specs and arrays by position."""
