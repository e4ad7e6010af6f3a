"""What the tests of history share."""

import pytest

pytest.register_assert_rewrite("tests.history.index")
