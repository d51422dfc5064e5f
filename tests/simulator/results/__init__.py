"""TODO tests.simulator.results"""
