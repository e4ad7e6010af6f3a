"""One test for many items of the same kind, which tells about every item that fails."""

from __future__ import annotations


def for_each(items, name=str):
    """Let a test run once for each item, and fail at its end with all that failed.

    Items that take a while to find come as a function: every process collects every test.
    """

    def decorate(check):
        def test():
            failures = []
            found = items() if callable(items) else items
            for item in found:
                try:
                    check(*item) if type(item) is tuple else check(item)
                except Exception as error:  # noqa: BLE001 - all of them are raised below
                    error.add_note(f"for {name(item)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(found)} failed", failures)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate
