"""From a trace to a hybrid workload: types, overheads and notices."""
