"""From a log to a trace: SWF, ALCF, sacct and tables with named columns; and the queue that squeue shows.

Other folders use ``choice``, ``clock``, ``columnroles``, ``dependencies``, ``intake``, ``machinesize``, ``nodelist``,
``nodenames``, ``onepool``, ``readers``, ``sacctforms``, ``sacctvalues``, ``snapshot``, ``squeue``, ``sshare``,
``startingstate``, ``swf``, ``swfheader``, ``swflines``, ``trace``, ``tracecolumns`` and ``withdrawals``.
"""
