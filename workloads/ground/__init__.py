"""What everything stands on: errors, units, quantities, random streams, files and registries.

Other folders use ``documents``, ``errors``, ``fields``, ``files``, ``importing``, ``jsonitems``, ``lines``,
``longfiles``, ``machinecode``, ``numbers``, ``quantities``, ``registry``, ``rows``, ``streams``, ``ticks``, ``units``
and ``wording``.
"""
