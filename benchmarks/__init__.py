"""The claims of the README, measured: `python -m benchmarks` runs them, one module per claim.

A claim's module has NAME, TITLE, its settings FULL and QUICK, and `run(bench)`, which returns a
`report.Claim`; `__main__.CLAIMS` lists it. `bench` gives it settings, a scratch directory and the
installed wheel; `measure` takes samples in turns and compares them, `process` runs and measures
child processes. Figures are ratios; goals are stated beside them and never fail a run.
"""
