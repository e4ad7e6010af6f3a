"""The claims of the README, measured: `python -m benchmarks` runs them, one module per claim.

Claims are in `server` and `rooms`. A claim's module has NAME, TITLE, its settings FULL and QUICK,
and `run(bench)`, which returns a `results.report.Claim`; `__main__.CLAIMS` lists it. `bench` gives
it settings, a scratch directory and the installed wheel. `subjects` has what is measured on, made
once in a run, and the original systems' ways to answer. `measurement` takes samples in turns, runs
and measures child processes, and knows other people's servers. Figures are ratios, curves are the
same question at growing sizes; goals are stated beside them and never fail a run.
"""
