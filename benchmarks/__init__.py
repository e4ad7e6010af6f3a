"""The claims of the README, measured: `python -m benchmarks` runs them, one module per claim.

A claim's module has NAME, TITLE, its settings FULL and QUICK, and `run(bench)`, which returns a
`report.Claim`; `__main__.CLAIMS` lists it. `bench` gives it settings, a scratch directory and the
installed wheel, and makes once what several claims need (`histories`, `madeup`, `projects`).
`measure` takes samples in turns and compares them, `process` and `peaks` run and measure child
processes, `originals` and `peers` are what ours is compared with. Figures are ratios, curves are
the same question at growing sizes; goals are stated beside them and never fail a run.
"""
