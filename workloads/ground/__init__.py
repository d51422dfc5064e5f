"""What everything stands on: errors, units, random streams, files and registries.

Other folders use ``documents``, ``errors``, ``fields``, ``files``, ``importing``, ``lines``, ``numbers``, ``registry``,
``streams`` and ``units``.
"""
