"""Readers of logs, which make a trace: SWF, ALCF, sacct and tables with named columns; and of queues from squeue."""
