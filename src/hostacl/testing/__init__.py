"""For tests of programs: failures on demand."""

from hostacl.testing.injection import Injection as Injection
from hostacl.testing.injection import inject as inject
