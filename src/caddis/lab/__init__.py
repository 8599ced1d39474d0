"""The lab: workloads, baselines and what redraws the papers' figures."""
