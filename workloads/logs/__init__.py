"""From a log to a trace: SWF, ALCF and sacct; and the queue that squeue shows.

Other folders use ``choice``, ``dependencies``, ``intake``, ``machinesize``, ``nodelist``, ``nodenames``, ``readers``,
``sacctforms``, ``sacctvalues``, ``squeue``, ``startingstate``, ``swf``, ``swfheader``, ``swflines``, ``trace``,
``tracecolumns`` and ``withdrawals``.
"""
