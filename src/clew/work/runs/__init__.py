"""One run from its claim to its verdict: prepare, launch, supervise, judge, repair, take over."""
