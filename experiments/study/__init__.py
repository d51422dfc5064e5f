"""Framework for experiments: measurement, verdicts, figures and reports."""
