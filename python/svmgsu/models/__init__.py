"""Fitted models: the rule, its task, its calibration and its file."""
