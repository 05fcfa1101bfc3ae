"""What a face lacks, so that a rule cannot be broken through it: why, and the name that no function or argument of it has.

tools/stats.py looks the name up in the facts of that face. A rule that both faces lack is one of the command ``atc``.
"""

from __future__ import annotations

from collections.abc import Mapping

LACKING: Mapping[tuple[str, str], tuple[str, str]] = {
    ("HA226", "python"): ("pyACL reserves no addresses", "reserve_mem"),
    ("HA230", "c"): ("only Python shares bytes objects, and only pyACL gives their address", "bytes_to_ptr"),
    ("HA231", "c"): ("C reads through its pointers, by no function", "ptr_to_bytes"),
    ("HA232", "c"): ("C reads through its pointers, by no function", "ptr_to_bytes"),
    ("HA311", "c"): ("a C program's signal handlers run beside its waits, which nothing ends", "interrupt"),
    ("HA407", "c"): ("descriptors and buffers have one count, numInputs or numOutputs", "numInputBuffers"),
    ("HA417", "python"): ("pyACL counts the values itself, and takes str for names: None is a TypeError", "numValues"),
    ("HA613", "python"): ("of atc: no function reads a single-op JSON", "singleop"),
    ("HA613", "c"): ("of atc: no function reads a single-op JSON", "singleop"),
    ("HA614", "python"): ("of atc: functions take no options of a command line", "singleop"),
    ("HA614", "c"): ("of atc: functions take no options of a command line", "singleop"),
    ("HA911", "python"): ("pyACL has no physical memory apart from addresses", "physical"),
    ("HA913", "python"): ("pyACL reserves no addresses", "reserve_mem"),
    ("HA914", "python"): ("pyACL gives a stream's configuration in the call that makes it", "config_handle"),
}
