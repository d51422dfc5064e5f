"""From a log to a trace: SWF, ALCF and sacct.

Other folders use ``choice``, ``dependencies``, ``intake``, ``machinesize``, ``readers``, ``startingstate``, ``swf``,
``swfheader``, ``swflines``, ``trace`` and ``withdrawals``.
"""
