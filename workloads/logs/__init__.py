"""From a log to a trace: SWF, ALCF and sacct.

Other folders use ``dependencies``, ``intake``, ``readers``, ``startingstate``, ``swf``, ``swfheader``, ``swflines``,
``trace`` and ``withdrawals``.
"""
