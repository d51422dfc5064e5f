"""When will a queued job start: many simulations from the present state, with runtimes drawn from past runs."""
