"""Planning: from a law of the runtime and the platform's costs to a sequence of reservations to ask for.

Other folders use ``costs``, ``course``, ``execution``, ``kernel``, ``making``, ``memory``, ``offers``, ``optimal``,
``periodic``, ``plan``, ``planbook``, ``strategies``, ``transfer``, ``waits.document``, ``waits.fitting``,
``waits.lines`` and ``waits.model``.
"""
