"""Planning: from a law of the runtime and the platform's costs to a sequence of reservations to ask for."""
