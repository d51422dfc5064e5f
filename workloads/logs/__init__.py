"""From a log to a trace: SWF, ALCF, sacct and tables with named columns; and the queue that squeue shows."""
