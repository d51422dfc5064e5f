"""What everything stands on: errors, units, quantities, random streams, files and registries.

Other folders use ``documents``, ``errors``, ``fields``, ``files``, ``importing``, ``jobids``, ``jsonitems``,
``lines``, ``longfiles``, ``numbers``, ``quantities``, ``registry``, ``rows``, ``streams``, ``ticks`` and ``units``.
"""
